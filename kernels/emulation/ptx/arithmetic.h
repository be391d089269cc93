// Arithmetic of PTX where it is not that of C++: what the instructions do with values.
//
// T is the instruction's type. Integers wrap around (-fwrapv), floats are never contracted
// (-ffp-contract=off), so that +, -, *, / and the square root are those of IEEE 754.
#pragma once
#include <cstdint>
#include <type_traits>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;
typedef float f32;
typedef double f64;

#define PTX_INLINE inline __attribute__((always_inline))

namespace ptx {

[[noreturn]] void fail(const char* message, int line);

template <class T> constexpr int BITS = 8 * sizeof(T);
template <class T> constexpr bool SIGNED = std::is_signed_v<T>;
template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> constexpr T HIGHEST = (T)(SIGNED<T> ? ~(u64)0 >> (65 - BITS<T>) : ~(u64)0);
template <class T> constexpr T LOWEST = SIGNED<T> ? (T)(-HIGHEST<T> - 1) : (T)0;

// --- registers hold bits

PTX_INLINE f32 to_float(u32 bits) { return __builtin_bit_cast(f32, bits); }
PTX_INLINE f64 to_float(u64 bits) { return __builtin_bit_cast(f64, bits); }
PTX_INLINE u32 to_bits(f32 value) { return __builtin_bit_cast(u32, value); }
PTX_INLINE u64 to_bits(f64 value) { return __builtin_bit_cast(u64, value); }

// --- integers

template <class T> PTX_INLINE T multiply_high(T a, T b) {
    typedef std::conditional_t<SIGNED<T>, __int128, unsigned __int128> Wide;
    return (T)((Wide)a * (Wide)b >> BITS<T>);
}
template <class T> T divide(T a, T b, int line) {
    if (b == 0) fail("an integer is divided by zero", line);
    if (SIGNED<T> && b == (T)-1) return (T)(0 - (Unsigned<T>)a);
    return a / b;
}
template <class T> T remainder(T a, T b, int line) {
    if (b == 0) fail("an integer is divided by zero", line);
    if (SIGNED<T> && b == (T)-1) return 0;
    return a % b;
}
template <class T> T absolute(T a) { return a < 0 ? (T)(0 - (Unsigned<T>)a) : a; }
template <class T> T distance_added(T a, T b, T c) {
    return (T)(c + (a < b ? (Unsigned<T>)b - (Unsigned<T>)a : (Unsigned<T>)a - (Unsigned<T>)b));
}
template <class T> T clamped(__int128 wide) {
    return wide > HIGHEST<T> ? HIGHEST<T> : wide < LOWEST<T> ? LOWEST<T> : (T)wide;
}
// With carry in and out; `keep` says whether the instruction writes the carry.
template <class T> T add_carry(T a, T b, bool carry_in, bool& carry, bool keep) {
    const unsigned __int128 sum
        = (unsigned __int128)(Unsigned<T>)a + (Unsigned<T>)b + (carry_in ? 1 : 0);
    if (keep) carry = sum >> BITS<T> & 1;
    return (T)sum;
}
template <class T> T subtract_borrow(T a, T b, bool borrow_in, bool& carry, bool keep) {
    const unsigned __int128 difference
        = (unsigned __int128)(Unsigned<T>)a - (Unsigned<T>)b - (borrow_in ? 1 : 0);
    if (keep) carry = difference >> BITS<T> & 1;
    return (T)difference;
}
template <class T> PTX_INLINE T shift_left(T a, u32 n) { return n >= BITS<T> ? 0 : (T)(a << n); }
template <class T> PTX_INLINE T shift_right(T a, u32 n) {
    return n < BITS<T> ? (T)(a >> n) : a < 0 ? (T)-1 : 0;
}
// 32 bits out of the 64 of b and a
PTX_INLINE u32 funnel(u32 a, u32 b, u32 n, bool left) {
    const u64 both = (u64)b << 32 | a;
    return left ? (u32)(both << n >> 32) : (u32)(both >> n);
}
template <class T> PTX_INLINE u32 leading_zeros(T a) {
    return a == 0 ? BITS<T> : __builtin_clzll((u64)(Unsigned<T>)a) - (64 - BITS<T>);
}
// Place of the highest bit that is not the sign, or how far it is from the highest place.
template <class T> u32 find_bit(T a, bool from_above) {
    const u32 zeros = leading_zeros<T>(a < 0 ? (T)~a : a);
    if (zeros == BITS<T>) return ~0u;
    return from_above ? zeros : BITS<T> - 1 - zeros;
}
template <class T> T reverse_bits(T a) {
    T out = 0;
    for (int i = 0; i < BITS<T>; i++, a >>= 1) out = (T)(out << 1 | (a & 1));
    return out;
}
template <class T> T low_bits(u32 n) { return n >= BITS<T> ? (T)-1 : (T)(((T)1 << n) - 1); }
template <class T> T insert_field(T field, T into, u32 position, u32 length) {
    position &= 255;
    length &= 255;
    const T mask = shift_left<T>(low_bits<T>(length), position);
    return (T)((into & ~mask) | (shift_left<T>(field, position) & mask));
}
template <class T> T extract_field(T a, u32 position, u32 length) {
    typedef Unsigned<T> U;
    position &= 255;
    length &= 255;
    if (length == 0) return 0;
    const u32 last = position + length - 1 < BITS<T> ? position + length - 1 : BITS<T> - 1;
    const bool negative = SIGNED<T> && ((U)a >> last & 1);
    // places of the field that the word has
    const u32 n = position < BITS<T> ? last - position + 1 : 0;
    const U mask = low_bits<U>(n), field = shift_right<U>((U)a, position) & mask;
    return (T)(negative ? field | ~mask : field);
}
enum Permutation { BY_SELECTOR, FORWARD_4, BACKWARD_4, REPLICATE_8, EDGE_LEFT, EDGE_RIGHT,
    REPLICATE_16 };
inline u32 permute_bytes(u32 a, u32 b, u32 selector, Permutation how) {
    const u64 bytes = (u64)b << 32 | a;
    const u32 from = selector & 3;
    u32 out = 0;
    for (u32 i = 0; i < 4; i++) {
        u32 place = selector >> 4 * i & 7;
        bool sign = selector >> 4 * i & 8;
        if (how != BY_SELECTOR) sign = false;
        if (how == FORWARD_4) place = from + i;
        if (how == BACKWARD_4) place = (from - i) & 7;
        if (how == REPLICATE_8) place = from;
        if (how == EDGE_LEFT) place = i > from ? i : from;
        if (how == EDGE_RIGHT) place = i < from ? i : from;
        if (how == REPLICATE_16) place = 2 * (from & 1) + (i & 1);
        const u32 byte = (u32)(bytes >> 8 * place) & 255;
        out |= (sign ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
    }
    return out;
}
PTX_INLINE u32 logic3(u32 a, u32 b, u32 c, u32 table) {
    u32 out = 0;
    if (table & 1) out |= ~a & ~b & ~c;
    if (table & 2) out |= ~a & ~b & c;
    if (table & 4) out |= ~a & b & ~c;
    if (table & 8) out |= ~a & b & c;
    if (table & 16) out |= a & ~b & ~c;
    if (table & 32) out |= a & ~b & c;
    if (table & 64) out |= a & b & ~c;
    if (table & 128) out |= a & b & c;
    return out;
}
template <class T> u32 dot_product_4(u32 a, u32 b, bool signed_a, bool signed_b, u32 c) {
    for (int i = 0; i < 4; i++, a >>= 8, b >>= 8)
        c += (signed_a ? (u32)(s8)a : a & 255) * (signed_b ? (u32)(s8)b : b & 255);
    return c;
}
template <class T> T field_mask(T position, T length, bool wrap) {
    if (wrap) return shift_left<u32>(low_bits<u32>(length & 31), position & 31);
    return shift_left<u32>(low_bits<u32>(length), position);
}
template <class T> T extended(T a, u32 n, bool wrap) {  // from n bits, with their sign
    if (wrap) n &= 31;
    if (n >= 32) return a;
    const u32 field = (u32)a & low_bits<u32>(n);
    return n > 0 && SIGNED<T> && (field >> (n - 1) & 1) ? (T)(field | ~low_bits<u32>(n)) : (T)field;
}

// --- floats

template <class T> PTX_INLINE bool is_nan(T a) { return a != a; }
PTX_INLINE f32 flushed(f32 a) {  // subnormal numbers become zero, with their sign
    return __builtin_fabsf(a) < 0x1p-126f ? __builtin_copysignf(0.0f, a) : a;
}
// Results that are not a number have one pattern in single precision.
PTX_INLINE u32 result_bits(f32 value) { return is_nan(value) ? 0x7fffffffu : to_bits(value); }
PTX_INLINE u64 result_bits(f64 value) { return to_bits(value); }
PTX_INLINE f32 square_root(f32 a) { return __builtin_sqrtf(a); }
PTX_INLINE f64 square_root(f64 a) { return __builtin_sqrt(a); }
PTX_INLINE f32 fused(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
PTX_INLINE f64 fused(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
PTX_INLINE f32 negative(f32 a) { return to_float(to_bits(a) ^ 0x80000000u); }
PTX_INLINE f64 negative(f64 a) { return to_float(to_bits(a) ^ 0x8000000000000000ull); }
PTX_INLINE f32 absolute(f32 a) { return to_float(to_bits(a) & 0x7fffffffu); }
PTX_INLINE f64 absolute(f64 a) { return to_float(to_bits(a) & 0x7fffffffffffffffull); }
PTX_INLINE f32 with_sign_of(f32 sign, f32 a) { return __builtin_copysignf(a, sign); }
PTX_INLINE f64 with_sign_of(f64 sign, f64 a) { return __builtin_copysign(a, sign); }
// The smaller one; a number wins over what is not a number (unless `nan` is asked for), and -0 is
// less than 0.
template <class T> T smaller(T a, T b, bool nan) {
    if (is_nan(a)) return nan ? a : b;
    if (is_nan(b)) return nan ? b : a;
    if (a == b) return __builtin_signbit(a) ? a : b;
    return a < b ? a : b;
}
template <class T> T larger(T a, T b, bool nan) {
    if (is_nan(a)) return nan ? a : b;
    if (is_nan(b)) return nan ? b : a;
    if (a == b) return __builtin_signbit(a) ? b : a;
    return a > b ? a : b;
}
template <class T> T saturated(T a) { return a >= 1 ? 1 : a > 0 ? a : 0; }  // and 0 for no number
enum Test { FINITE, INFINITE, NUMBER, NOT_A_NUMBER, NORMAL, SUBNORMAL };
template <class T> bool is(Test what, T a) {
    switch (what) {
    case FINITE: return __builtin_isfinite(a);
    case INFINITE: return __builtin_isinf(a);
    case NUMBER: return !is_nan(a);
    case NOT_A_NUMBER: return is_nan(a);
    case NORMAL: return __builtin_isnormal(a);
    default: return __builtin_isfinite(a) && a != 0 && !__builtin_isnormal(a);
    }
}

// --- rounding

enum Rounding { NEAREST, TO_ZERO, DOWN, UP };
enum Operation { ADD, SUBTRACT, MULTIPLY, DIVIDE, ROOT, FUSED };
// These are functions of the machine, which changes the rounding mode of the processor.
template <class T> T rounded(Rounding mode, Operation what, T a, T b = 0, T c = 0);
template <class To, class From> To converted(Rounding mode, From a);

template <class T> T to_whole(Rounding mode, T a) {
    switch (mode) {
    case NEAREST: return (T)__builtin_nearbyint(a);
    case TO_ZERO: return (T)__builtin_trunc(a);
    case DOWN: return (T)__builtin_floor(a);
    default: return (T)__builtin_ceil(a);
    }
}
// A float that is a whole number already as an integer: the nearest one there is.
template <class To, class From> To to_integer(From whole) {
    if (is_nan(whole))
        return sizeof(From) == 8 || sizeof(To) == 8 ? (To)((u64)1 << (BITS<To> - 1)) : (To)0;
    const From end = (From)((u64)1 << (BITS<To> - 1)) * (SIGNED<To> ? 1 : 2);
    if (whole >= end) return HIGHEST<To>;
    if (whole < (SIGNED<To> ? -end : 0)) return LOWEST<To>;
    return (To)whole;
}

}  // namespace ptx
