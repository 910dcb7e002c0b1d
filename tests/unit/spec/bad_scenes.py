"""The scene that tests of bad input spoil, and what they check it with."""

import warnings

from sharnir import Body, Helical, Revolute, Scene, Spring, compile

NAN, INF = float("nan"), float("inf")
BOX = (0.4, 0.5, 0.6)  # moments of a body that is regular on any joint


def kind_of(value):
    """A short id for a value of the wrong type: `list of int`, or the text itself."""
    if isinstance(value, str):
        return value
    inner = f" of {kind_of(value[0])}" if isinstance(value, (list, tuple)) and value else ""
    return type(value).__name__ + inner


def accepted(scene):
    """The compiled model; a warning fails the test."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return compile(scene)


def make(body=None, joint=None, spring=None, kind=Revolute, **scene):
    """A body 'bob' on a joint 'pin', with a spring 'coil'; keywords change their fields."""
    out = Scene(**{"name": "test", **scene})
    out.add(Body(**{"name": "bob", "mass": 1.0, "inertia": BOX, "position": (1.0, 0.0, 0.0), **(body or {})}))
    pitch = {"pitch": 0.1} if kind is Helical else {}
    out.add(kind(**{"name": "pin", "parent": "world", "child": "bob", **pitch, **(joint or {})}))
    out.add(Spring(**{"name": "coil", "parent": "world", "child": "bob", **(spring or {})}))
    return out


def two_links(lower_axis, upper_axis, **lower):
    """A massless link 'arm' on 'first', and a body 'tip' on 'second', both hinges at the origin."""
    scene = Scene(name="two")
    scene.add(Body(name="arm", mass=0.0))
    scene.add(Body(**{"name": "tip", "mass": 1.0, "position": (1.0, 0.0, 0.0), **lower}))
    scene.add(Revolute(name="first", parent="world", child="arm", axis=lower_axis))
    scene.add(Revolute(name="second", parent="arm", child="tip", axis=upper_axis))
    return scene
