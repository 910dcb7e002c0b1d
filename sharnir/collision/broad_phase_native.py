"""Native parts of the broad phase: AABBs, and bit rows with a bit per shape.

An AABB is eight numbers, (lower, 0, −upper, 0): two AABBs overlap if the numbers of one are at most those of the other
with halves swapped and negated, (l, 0, −u, 0) ≤ (u', 0, −l', 0). Up to MAX_ALL_PAIRS_SHAPES they are stored number by
number, so that one is compared with eight at once; more are stored AABB by AABB, since candidates are scattered.
"""

from __future__ import annotations

import warp as wp

from sharnir.kernels.columns import ints2
from sharnir.kernels.types import DOUBLE, array2, vec3
from sharnir.kernels.vector_ops import indices

word_array = wp.array(dtype=wp.uint64)
word_array2 = wp.array(dtype=wp.uint64, ndim=2)

WORD_BITS = 64  # shapes in a word
WORDS_PER_BLOCK = 4  # words combined at once (SIMD)
NUMBERS_PER_AABB = 8  # numbers of an AABB
SLAB_SAMPLES = 32  # shapes whose AABBs define the slabs
SHAPES_PER_BATCH = 16  # shapes whose candidates are listed before any are compared; divides WORD_BITS
UNCHECKED_PARTNERS = 3  # candidates of a word that are listed without a branch on how many there are

_COLUMN_NATIVE = """
    typedef unsigned long long word;
    REAL* boxes = box.data;
#if defined(__CUDA_ARCH__)
    const long long n = box.shape[1];
    boxes += w;
    const auto lowest = [](word x) { return __ffsll(x) - 1; };
#else
    const long long n = 1;
    w = 0;
    const auto lowest = [](word x) { return __builtin_ctzll(x); };
    typedef word block __attribute__((ext_vector_type(BLOCK), aligned(8)));
    typedef REAL eight __attribute__((ext_vector_type(8), aligned(sizeof(REAL))));
    typedef int eight_ints __attribute__((ext_vector_type(8), aligned(sizeof(int))));
    typedef bool flags __attribute__((ext_vector_type(8)));
    #define FLAGS(x) __builtin_bit_cast(unsigned char, __builtin_convertvector(x, flags))
#endif
"""

_STORE_AABB_NATIVE = """
    REAL* p = boxes + shape * step_shape * n;
    for (int k = 0; k < 3; ++k) {
        p[k * step_number * n] = lower[k];
        p[(k + 4) * step_number * n] = -upper[k];
    }
"""

_STORE_PAIR_NATIVE = """
    int found = 0;
    int* out = pairs.data + w;
    const auto store = [&](int a, int b) {
        if (found < most) { out[2 * found * n] = a; out[(2 * found + 1) * n] = b; }
        ++found;
    };
"""

_ALL_PAIRS_NATIVE = """
    const long long next = 64 * words * n;
    for (int a = 0; a < count; ++a) {
        REAL limit[8];
        for (int k = 0; k < 8; ++k) limit[k] = -boxes[(k + 4) % 8 * next + a * n];
        word after = ~1ull << a % 64;  // shapes of the first word that come after a
        for (int at = a / 64; at < words; ++at, after = ~0ull) {
            word bits = allowed.data[row.data[a] * words + at] & after;
#if defined(__CUDA_ARCH__)
            for (; bits; bits &= bits - 1) {
                const int b = 64 * at + lowest(bits);
                bool all = true;
                for (int k = 0; k < 7; ++k) if (k != 3) all &= boxes[k * next + b * n] <= limit[k];
                if (all) store(a, b);
            }
#else
            if (!bits) continue;
            word hit = 0;
            const int end = 64 - __builtin_clzll(bits);
            for (int k = lowest(bits) & ~7; k < end; k += 8) {
                const auto number = [&](int i) { return *(const eight*)(boxes + i * next + 64 * at + k); };
                const auto all = (number(0) <= limit[0]) & (number(1) <= limit[1]) & (number(2) <= limit[2])
                               & (number(4) <= limit[4]) & (number(5) <= limit[5]) & (number(6) <= limit[6]);
                hit |= (word)FLAGS(all) << k;
            }
            for (hit &= bits; hit; hit &= hit - 1) store(a, 64 * at + lowest(hit));
#endif
        }
    }
    return found;
"""

# The range of three quarters of the sample and half as much again: what lies beyond shares the outermost slabs, so that
# a body that fell off the world does not spoil the slabs of the others. Slab numbers rise with the coordinate whatever
# the rounding, NaN included, so that slabs never part boxes that overlap.
_BUILD_SLABS_NATIVE = """
    REAL start[8] = {}, scale[8] = {};
    for (int axis = 0; axis < 3; ++axis) {
        REAL sorted[SAMPLED];
        for (int i = 0; i < SAMPLED; ++i) {
            const REAL* p = boxes + (8 * sample.data[i] + axis) * n;
            const REAL x = (REAL)0.5 * (p[0] - p[4 * n]);
            int k = i;
            for (; k > 0 && sorted[k - 1] > x; --k) sorted[k] = sorted[k - 1];
            sorted[k] = x;
        }
        const REAL from = sorted[SAMPLED / 8], range = sorted[SAMPLED - 1 - SAMPLED / 8] - from;
        if (range > 0) {
            start[axis] = from - range / 4;
            scale[axis] = slabs / (range * (REAL)1.5);
            start[axis + 4] = -start[axis];
            scale[axis + 4] = -scale[axis];
        }
    }
    const REAL last = slabs - 1;
    const int table = (slabs + 1) * words;
    word* all = marks.data + w;
    for (int i = 0; i < 6 * table; ++i) all[i * n] = 0;
    for (int i = 0; i < count; ++i) {
        const REAL* p = boxes + 8 * i * n;
        int* s = slab.data + 8 * i * n + w;
#if defined(__CUDA_ARCH__)
        for (int k = 0; k < 8; ++k) {
            REAL t = (p[k * n] - start[k]) * scale[k];
            t = t > 0 ? t : (REAL)0;
            s[k * n] = (int)(t < last ? t : last) * words;
        }
#else
        eight t = (*(const eight*)p - *(const eight*)start) * *(const eight*)scale;
        t = t > (REAL)0 ? t : (REAL)0;
        t = t < last ? t : last;
        *(eight_ints*)s = __builtin_convertvector(t, eight_ints) * words;
#endif
        const word bit = 1ull << i % 64;
        word* here = all + i / 64 * n;
        for (int k = 0; k < 3; ++k) {
            here[(2 * k * table + s[k * n]) * n] |= bit;
            here[((2 * k + 1) * table + s[(k + 4) * n] + words) * n] |= bit;
        }
    }
    for (int k = 0; k < 6; ++k) {
        word* here = all + k * table * n;
#if defined(__CUDA_ARCH__)
        for (int i = words; i < table; ++i) here[i * n] |= here[(i - words) * n];
#else
        for (int at = 0; at < words; at += BLOCK) {
            block sum = 0;
            for (int i = at; i < table; i += words) *(block*)(here + i) = sum |= *(block*)(here + i);
        }
#endif
    }
"""

_PAIRS_BY_SLABS_NATIVE = """
    const int table = (slabs + 1) * words;
#if defined(__CUDA_ARCH__)
    for (int a = 0; a < count; ++a) {
        const int* s = slab.data + 8 * a * n + w;
        const REAL* A = boxes + 8 * a * n;
        word after = ~1ull << a % 64;
        for (int at = a / 64; at < words; ++at, after = ~0ull) {
            word bits = allowed.data[row.data[a] * words + at] & after;
            for (int k = 0; k < 3; ++k) {
                const word* axis = marks.data + (2 * k * table + at) * n + w;
                bits &= axis[s[(k + 4) * n] * n] & ~axis[(table + s[k * n]) * n];
            }
            for (; bits; bits &= bits - 1) {
                const int b = 64 * at + lowest(bits);
                const REAL* B = boxes + 8 * b * n;
                bool all = true;
                for (int k = 0; k < 7; ++k) if (k != 3) all &= B[k * n] <= -A[(k + 4) % 8 * n];
                if (all) store(a, b);
            }
        }
    }
#else
    // Three passes over the shapes of a batch, each without branches that depend on the boxes (measured: half the time
    // of a pile in random order): words with bits, pairs of those bits, pairs whose boxes overlap. A pair is a + 2³² b,
    // which is how `pairs` has it in memory.
    typedef word pair __attribute__((aligned(4), may_alias));
    const auto load = [](const word* p) { return *(const block*)p; };
    const auto compare = [](const REAL* boxes, const word* list, int listed, int* out, int most, int found)
            __attribute__((noinline)) {  // a function of its own has its registers for itself
        #pragma clang loop unroll(disable)
        for (int i = 0; i < listed; ++i) {
            const eight A = *(const eight*)(boxes + 8 * (list[i] & 0xffffffff));
            const eight limit = -__builtin_shufflevector(A, A, 4, 5, 6, 7, 0, 1, 2, 3);
            if (found < most) *(pair*)(out + 2 * found) = list[i];  // overwritten by the next if it does not count
            found += FLAGS(*(const eight*)(boxes + 8 * (list[i] >> 32)) <= limit) == 255;
        }
        return found;
    };
    const word* mark = marks.data;
    word *some = near.data, *base = some + ROWS * words, *list = base + ROWS * words;
    for (int first = 0; first < count; first += ROWS) {
        const int end = first + ROWS < count ? first + ROWS : count;
        const int own = first / 64;
        int filled = 0;
        for (int a = first; a < end; ++a) {
            const int* s = slab.data + 8 * a;
            const word* may = allowed.data + row.data[a] * words;
            const word *bx = mark + s[4], *by = mark + 2 * table + s[5], *bz = mark + 4 * table + s[6];
            const word *ex = mark + table + s[0], *ey = mark + 3 * table + s[1], *ez = mark + 5 * table + s[2];
            for (int at = own / BLOCK * BLOCK; at < words; at += BLOCK) {
                block bits = load(may + at) & load(bx + at) & load(by + at) & load(bz + at)
                           & ~(load(ex + at) | load(ey + at) | load(ez + at));
                if (at <= own)
                    for (int j = 0; j < BLOCK; ++j)
                        bits[j] &= at + j < own ? 0ull : at + j == own ? ~1ull << a % 64 : ~0ull;
                for (int j = 0; j < BLOCK; ++j) {
                    some[filled] = bits[j];
                    base[filled] = a + ((word)(64 * (at + j)) << 32);
                    filled += bits[j] != 0;
                }
            }
        }
        int listed = 0;
        for (int i = 0; i < filled; ++i) {
            word bits = some[i];
            const int many = __builtin_popcountll(bits);
            for (int j = 0; j < SURE; ++j, bits &= bits - 1)
                list[listed + j] = base[i] + ((word)lowest(bits | 1ull << 63) << 32);
            for (int j = SURE; j < many; ++j, bits &= bits - 1)
                list[listed + j] = base[i] + ((word)lowest(bits) << 32);
            listed += many;
        }
        found = compare(boxes, list, listed, out, most, found);
    }
#endif
    return found;
"""


def _complete_native(code: str) -> str:
    """A native snippet for column w of the workspaces, with constants and the floating-point type filled in."""
    code = _COLUMN_NATIVE + code + "\n#undef FLAGS\n"
    for name, value in {
        "SAMPLED": SLAB_SAMPLES,
        "ROWS": SHAPES_PER_BATCH,
        "SURE": UNCHECKED_PARTNERS,
        "BLOCK": WORDS_PER_BLOCK,
    }.items():
        code = code.replace(name, str(value))
    return code.replace("REAL", "double" if DOUBLE else "float")


def candidate_buffer_size(words: int) -> int:
    """Words of scratch that `find_pairs_by_slabs` needs on the CPU for bit rows of `words` words."""
    return SHAPES_PER_BATCH * (WORD_BITS + 2) * words + UNCHECKED_PARTNERS


@wp.func_native(_complete_native(_STORE_AABB_NATIVE))
def store_aabb(box: array2, step_shape: int, step_number: int, shape: int, lower: vec3, upper: vec3, w: int):
    """Store the AABB of a shape, with the given strides in `box`."""
    ...


@wp.func_native(_complete_native(_STORE_PAIR_NATIVE + _ALL_PAIRS_NATIVE))
def find_all_pairs(
    box: array2, allowed: word_array, row: indices, count: int, words: int, pairs: ints2, most: int, w: int
) -> int:
    """Compare every AABB with all after it; returns the number of overlapping pairs, of which the first `most` are
    stored."""
    ...


@wp.func_native(_complete_native(_BUILD_SLABS_NATIVE))
def build_slabs(
    box: array2, sample: indices, count: int, words: int, slabs: int, slab: ints2, marks: word_array2, w: int
):
    """Cut the axes into slabs and set the bit rows: AABBs that begin up to each slab, AABBs that end before it."""
    ...


@wp.func_native(_complete_native(_STORE_PAIR_NATIVE + _PAIRS_BY_SLABS_NATIVE))
def find_pairs_by_slabs(
    box: array2,
    slab: ints2,
    marks: word_array2,
    near: word_array2,
    allowed: word_array,
    row: indices,
    count: int,
    words: int,
    slabs: int,
    pairs: ints2,
    most: int,
    w: int,
) -> int:
    """Compare every AABB with those after it that share slabs with it along all axes; returns the number of overlapping
    pairs, of which the first `most` are stored."""
    ...
