// Runs before viser's own script: names the page, sends held keys and gamepads, shows how to drive.
(() => {
  const SEND = 50; // ms between packets
  const SPEAK = 3000; // ms until a lost connection is tried again
  const STOP = "Escape";
  const page = [...crypto.getRandomValues(new Uint8Array(8))].map((b) => b.toString(16).padStart(2, "0")).join("");
  const socket = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
  history.replaceState(null, "", "/?websocket=" + encodeURIComponent(`${socket}/view?page=${page}`));

  const held = new Set();
  let mapped = new Set();
  let bridge = null;
  let status = { control: "free", stopped: false, axes: [] };
  let drive = { title: "", axes: [] };

  const say = (message) => {
    if (bridge && bridge.readyState === WebSocket.OPEN) bridge.send(JSON.stringify(message));
  };
  const typing = (event) => {
    const at = event.target;
    return at instanceof HTMLElement && (at.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName));
  };
  const packet = () => {
    if (status.control !== "you") return;
    const pad = [...navigator.getGamepads()].find((p) => p && p.connected);
    const bound = (x, low) => Math.min(1, Math.max(low, Number.isFinite(x) ? x : 0));
    say({
      type: "held",
      keys: [...held].slice(0, 32),
      sticks: pad ? pad.axes.slice(0, 8).map((x) => bound(x, -1)) : [],
      buttons: pad ? pad.buttons.slice(0, 32).map((b) => bound(b.value, 0)) : [],
    });
  };
  const let_go = () => {
    held.clear();
    packet();
  };

  addEventListener("keydown", (event) => {
    if (event.code === STOP && !event.repeat) say({ type: "stop" });
    if (typing(event) || event.ctrlKey || event.metaKey || event.altKey || !mapped.has(event.code)) return;
    event.preventDefault();
    event.stopImmediatePropagation(); // viser moves its camera by the same keys
    if (!held.has(event.code)) {
      held.add(event.code);
      packet();
    }
  }, true);
  addEventListener("keyup", (event) => {
    if (!held.delete(event.code)) return;
    event.stopImmediatePropagation();
    packet();
  }, true);
  addEventListener("blur", let_go);
  document.addEventListener("visibilitychange", () => document.hidden && let_go());
  setInterval(packet, SEND);

  const connect = () => {
    bridge = new WebSocket(`${socket}/bridge?page=${page}`);
    bridge.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "drive") {
        drive = message;
        mapped = new Set(drive.axes.flatMap(([, , keys]) => keys));
        build();
      } else {
        status = message;
      }
      show();
    };
    bridge.onclose = () => {
      status = { ...status, control: "gone" };
      show();
      setTimeout(connect, SPEAK);
    };
  };

  const box = document.createElement("div");
  box.id = "sharnir-drive";
  box.style.cssText =
    "position:fixed;left:12px;bottom:12px;z-index:1000;font:13px sans-serif;background:rgba(255,255,255,.88);" +
    "border-radius:6px;padding:8px 10px;box-shadow:0 1px 4px rgba(0,0,0,.3);color:#222;user-select:none;max-width:320px";
  const element = (tag, text, style = "") => {
    const made = document.createElement(tag);
    made.textContent = text;
    made.style.cssText = style;
    return made;
  };
  const button = (text, color, click) => {
    const style = `margin:4px 6px 0 0;padding:5px 10px;border:0;border-radius:4px;color:#fff;cursor:pointer;background:${color}`;
    const made = element("button", text, style);
    made.tabIndex = -1;
    made.onclick = click;
    return made;
  };
  const words = element("div", "");
  const take = button("Take control", "#1565c0", () => say({ type: status.control === "you" ? "release" : "take" }));
  const stop = button("STOP (Esc)", "#c62828", () => say({ type: status.stopped ? "clear" : "stop" }));
  let bars = [];
  const build = () => {
    const title = drive.title ? [element("div", drive.title, "font-weight:bold;margin-bottom:2px")] : [];
    bars = drive.axes.map(([name, how]) => {
      const row = element("div", "", "display:flex;align-items:center;gap:6px;line-height:18px");
      const bar = element("div", "", "position:relative;width:60px;height:8px;background:#ddd;border-radius:2px");
      const mark = element("div", "", "position:absolute;top:0;height:8px;background:#1565c0;left:50%;width:0");
      bar.append(mark);
      row.append(element("span", name, "min-width:70px"), bar, element("span", how, "color:#555"));
      return { row, mark };
    });
    const hint = element("div", "Shift and drag: pull a body", "color:#555;margin-top:2px");
    box.replaceChildren(...title, ...bars.map((b) => b.row), hint, words, take, stop);
  };
  const show = () => {
    const role = { you: "You are in control.", free: "Nobody is in control.", other: "Somebody else is in control.",
      gone: "No connection." }[status.control];
    words.textContent = status.stopped ? `EMERGENCY STOP. ${role}` : role;
    words.style.color = status.stopped ? "#c62828" : "#222";
    take.textContent = status.control === "you" ? "Release control" : "Take control";
    stop.textContent = status.stopped ? "Clear stop" : "STOP (Esc)";
    bars.forEach(({ mark }, k) => {
      const x = status.axes[k] || 0;
      mark.style.left = `${50 + Math.min(0, x) * 50}%`;
      mark.style.width = `${Math.abs(x) * 50}%`;
    });
  };
  addEventListener("DOMContentLoaded", () => {
    document.body.append(box);
    build();
    show();
    connect();
  });
})();
