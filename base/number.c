/* number.c - numbers to text and back, whatever the process's locale.
 *
 * Sections: 1 float32 to decimal (Schubfach)  2 digits to text  3 nine digits  4 text to double */
#include "number.h"

#include <stdio.h>
#include <string.h>

__extension__ typedef unsigned __int128 u128;

/* ---- 1 float32 to decimal ------------------------------------------------------
 * Schubfach: R. Giulietti, "The Schubfach way to render doubles", 2020. A float is c
 * 2^q; its rounding interval, times 4 and scaled by 10^-k, holds one or two multiples
 * of 40 or of 4: those are the candidates. */

enum { POW10_MIN = -31, POW10_MAX = 45 };
/* 10^k scaled by a power of two to 64 bits, rounded up */
static const uint64_t pow10_64[POW10_MAX - POW10_MIN + 1] = {
    0x81CEB32C4B43FCF5, 0xA2425FF75E14FC32, 0xCAD2F7F5359A3B3F, 0xFD87B5F28300CA0E,
    0x9E74D1B791E07E49, 0xC612062576589DDB, 0xF79687AED3EEC552, 0x9ABE14CD44753B53,
    0xC16D9A0095928A28, 0xF1C90080BAF72CB2, 0x971DA05074DA7BEF, 0xBCE5086492111AEB,
    0xEC1E4A7DB69561A6, 0x9392EE8E921D5D08, 0xB877AA3236A4B44A, 0xE69594BEC44DE15C,
    0x901D7CF73AB0ACDA, 0xB424DC35095CD810, 0xE12E13424BB40E14, 0x8CBCCC096F5088CC,
    0xAFEBFF0BCB24AAFF, 0xDBE6FECEBDEDD5BF, 0x89705F4136B4A598, 0xABCC77118461CEFD,
    0xD6BF94D5E57A42BD, 0x8637BD05AF6C69B6, 0xA7C5AC471B478424, 0xD1B71758E219652C,
    0x83126E978D4FDF3C, 0xA3D70A3D70A3D70B, 0xCCCCCCCCCCCCCCCD, 0x8000000000000000,
    0xA000000000000000, 0xC800000000000000, 0xFA00000000000000, 0x9C40000000000000,
    0xC350000000000000, 0xF424000000000000, 0x9896800000000000, 0xBEBC200000000000,
    0xEE6B280000000000, 0x9502F90000000000, 0xBA43B74000000000, 0xE8D4A51000000000,
    0x9184E72A00000000, 0xB5E620F480000000, 0xE35FA931A0000000, 0x8E1BC9BF04000000,
    0xB1A2BC2EC5000000, 0xDE0B6B3A76400000, 0x8AC7230489E80000, 0xAD78EBC5AC620000,
    0xD8D726B7177A8000, 0x878678326EAC9000, 0xA968163F0A57B400, 0xD3C21BCECCEDA100,
    0x84595161401484A0, 0xA56FA5B99019A5C8, 0xCECB8F27F4200F3A, 0x813F3978F8940985,
    0xA18F07D736B90BE6, 0xC9F2C9CD04674EDF, 0xFC6F7C4045812297, 0x9DC5ADA82B70B59E,
    0xC5371912364CE306, 0xF684DF56C3E01BC7, 0x9A130B963A6C115D, 0xC097CE7BC90715B4,
    0xF0BDC21ABB48DB21, 0x96769950B50D88F5, 0xBC143FA4E250EB32, 0xEB194F8E1AE525FE,
    0x92EFD1B8D0CF37BF, 0xB7ABC627050305AE, 0xE596B7B0C643C71A, 0x8F7E32CE7BEA5C70,
    0xB35DBF821AE4F38C,
};

static int floor_log2_pow10(int e)
{
    return (e * 1741647) >> 19;
}

static uint32_t round_to_odd(uint64_t g, uint32_t c)
{
    u128 p = (u128)g * c;
    uint32_t high = (uint32_t)(p >> 64), low = (uint32_t)(p >> 32);
    return high | (low > 1);
}

/* x = digits 10^exponent for a finite x > 0 given by its bits */
static uint32_t shortest(uint32_t bits, int *exponent)
{
    uint32_t man = bits & 0x7FFFFF, exp = bits >> 23, c, s, lower, upper, low, mid, high, odd;
    int q, k, h;
    bool closer = !man && exp > 1; /* the neighbour below is at half the distance */
    uint64_t g;
    if (exp) {
        c = man | 0x800000;
        q = (int)exp - 150;
        if (q <= 0 && q > -24 && !(c & ((1u << -q) - 1))) {
            *exponent = 0;
            return c >> -q;
        }
    } else {
        c = man;
        q = -149;
    }
    odd = c & 1;
    k = (q * 1262611 - (closer ? 524031 : 0)) >> 22; /* floor(log10) */
    h = q + floor_log2_pow10(-k) + 1;
    g = pow10_64[-k - POW10_MIN];
    low = round_to_odd(g, (4 * c - 2 + closer) << h);
    mid = round_to_odd(g, (4 * c) << h);
    high = round_to_odd(g, (4 * c + 2) << h);
    lower = low + odd;
    upper = high - odd;
    s = mid / 4;
    if (s >= 10) {
        uint32_t t = s / 10;
        bool down = lower <= 40 * t, up = 40 * t + 40 <= upper;
        if (down != up) {
            *exponent = k + 1;
            return t + up;
        }
    }
    *exponent = k;
    {
        bool down = lower <= 4 * s, up = 4 * s + 4 <= upper;
        if (down != up)
            return s + up;
    }
    return s + (mid > 4 * s + 2 || (mid == 4 * s + 2 && (s & 1)));
}

/* ---- 2 digits to text ------------------------------------------------------------ */

/* 0.d1d2...dn 10^point, n >= 1, d1 and dn not 0; plainly where point is `least` to `most`. */
static size_t put_within(char *dst, bool negative, const char *digits, int n, int point, int least,
                         int most)
{
    char *p = dst;
    if (negative)
        *p++ = '-';
    if (point > most || point < least) {
        int e = point - 1;
        *p++ = digits[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)n - 1);
            p += n - 1;
        }
        p += snprintf(p, 8, "e%c%02d", e < 0 ? '-' : '+', e < 0 ? -e : e);
        return (size_t)(p - dst);
    }
    if (point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = point; i < 0; i++)
            *p++ = '0';
        memcpy(p, digits, (size_t)n);
        p += n;
    } else {
        for (int i = 0; i < n || i < point; i++) {
            if (i == point)
                *p++ = '.';
            *p++ = i < n ? digits[i] : '0';
        }
    }
    *p = '\0';
    return (size_t)(p - dst);
}

static size_t put_decimal(char *dst, bool negative, const char *digits, int n, int point)
{
    return put_within(dst, negative, digits, n, point, -5, 10);
}

static size_t put_word(char *dst, const char *word)
{
    size_t n = strlen(word);
    memcpy(dst, word, n + 1);
    return n;
}

size_t bi_print_f32(char *dst, float x)
{
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    bool negative = v.u >> 31;
    uint32_t bits = v.u & 0x7FFFFFFF, d;
    char text[10];
    int exponent, n = 0, end = 10;
    if (bits >= 0x7F800000)
        return put_word(dst, bits > 0x7F800000 ? "NaN" : negative ? "-inf" : "inf");
    if (!bits)
        return put_word(dst, negative ? "-0.0" : "0");
    for (d = shortest(bits, &exponent); d % 10 == 0; d /= 10)
        exponent++;
    for (; d; d /= 10, n++)
        text[--end] = (char)('0' + d % 10);
    return put_decimal(dst, negative, text + end, n, n + exponent);
}

/* Digits of x > 0 as m / 10^k, m of at most 15 digits, where it is one: then no other number of so
 * few digits is nearer, and a division gives x exactly. Numbers that came from text mostly are.
 * Returns how many, the last one not 0, and *point as put_decimal takes it; 0: x is none. */
static int few_digits(double x, char digits[16], int *point)
{
    static const double ten[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};
    for (int k = 0; k < (int)(sizeof ten / sizeof *ten); k++) {
        const double scaled = x * ten[k];
        uint64_t m;
        int n = 0, zeros = 0;
        char reversed[16];
        if (!(scaled < 999999999999999.0))
            return 0;
        m = (uint64_t)(scaled + 0.5);
        if ((double)m / ten[k] != x)
            continue;
        for (; m % 10 == 0; m /= 10)
            zeros++;
        for (; m; m /= 10)
            reversed[n++] = (char)('0' + m % 10);
        for (int i = 0; i < n; i++)
            digits[i] = reversed[n - 1 - i];
        *point = n + zeros - k;
        return n;
    }
    return 0;
}

size_t bi_print_f64(char *dst, double x)
{
    union {
        double f;
        uint64_t u;
    } v = {.f = x};
    bool negative = v.u >> 63;
    uint64_t bits = v.u & INT64_MAX;
    char few[16];
    int n_few, point;
    if (bits >= 0x7FF0000000000000u)
        return put_word(dst, bits > 0x7FF0000000000000u ? "NaN" : negative ? "-inf" : "inf");
    if (!bits)
        return put_word(dst, negative ? "-0.0" : "0");
    if ((n_few = few_digits(negative ? -x : x, few, &point)))
        return put_decimal(dst, negative, few, n_few, point);
    for (int precision = 14;; precision++) {
        char text[64], digits[20];
        double back;
        size_t length;
        int n = 0, exponent;
        const char *p = text, *e;
        snprintf(text, sizeof text, "%.*e", precision, negative ? -x : x);
        e = strchr(text, 'e');
        for (; p < e; p++) /* whatever stands for the point is left out */
            if (*p >= '0' && *p <= '9' && n < (int)sizeof digits)
                digits[n++] = *p;
        exponent = 0;
        for (p = e + 2; *p; p++)
            exponent = exponent * 10 + (*p - '0');
        if (e[1] == '-')
            exponent = -exponent;
        while (n > 1 && digits[n - 1] == '0')
            n--;
        length = put_decimal(dst, negative, digits, n, exponent + 1);
        if (precision >= 16 || (bi_parse_f64(dst, length, &back) && back == x))
            return length;
    }
}

/* ---- 3 nine digits ----------------------------------------------------------------- */

static u128 power_of_5(int k)
{
    u128 n = 1;
    while (k--)
        n *= 5;
    return n;
}

/* c 2^q 10^(8 - exponent) as a whole number, rounded to the nearest, ties to even; exact where the
 * exponent is -36 to 38. */
static uint64_t scaled(uint32_t c, int q, int exponent)
{
    const int p = 8 - exponent;
    u128 n, rest, half;
    if (p < 0) {
        const u128 d = power_of_5(-p) << -p;
        n = (u128)c << q;
        rest = n % d * 2;
        half = d;
        n /= d;
    } else {
        const int down = -(q + p);
        n = power_of_5(p) * c;
        if (down <= 0)
            return (uint64_t)(n << -down);
        half = (u128)1 << (down - 1);
        rest = n & (2 * half - 1);
        n >>= down;
    }
    return (uint64_t)n + (rest > half || (rest == half && (n & 1)));
}

size_t bi_print_g9(char *dst, float x)
{
    enum { DIGITS = 9, MOST = 1000000000 };
    union {
        float f;
        uint32_t u;
    } v = {.f = x};
    const bool negative = v.u >> 31;
    const uint32_t bits = v.u & INT32_MAX, man = bits & 0x7FFFFF;
    const int q = (int)(bits >> 23) - 150;
    int exponent, n = DIGITS;
    char digits[DIGITS];
    uint64_t m;
    if (bits >= 0x7F800000u)
        return put_word(dst, man ? "nan" : negative ? "-inf" : "inf");
    if (!bits)
        return put_word(dst, negative ? "-0" : "0");
    if (bits < 0x04000000u) /* below 1.5e-36 */
        return (size_t)snprintf(dst, BI_NUMBER_SIZE, "%.9g", (double)x);
    exponent = (q + 23) * 1233 >> 12; /* the logarithm, or one less */
    if ((m = scaled(man | 0x800000, q, exponent)) >= MOST)
        m = scaled(man | 0x800000, q, ++exponent);
    if (m == MOST) {
        m /= 10;
        exponent++;
    }
    for (int i = DIGITS - 1; i >= 0; i--, m /= 10)
        digits[i] = (char)('0' + m % 10);
    while (digits[n - 1] == '0')
        n--;
    return put_within(dst, negative, digits, n, exponent + 1, -3, DIGITS);
}

/* ---- 4 text to double --------------------------------------------------------------
 * Up to 19 digits and small powers of ten are exact in double arithmetic. The rest is
 * done in decimal: the digits are multiplied and divided by powers of two until the
 * number is an integer of 53 bits, which is the mantissa. */

enum { MAX_DIGITS = 800 }; /* a double's exact decimal has 767; a longer tail only rounds */

struct decimal {
    uint8_t digit[MAX_DIGITS];
    int n, point; /* 0.d0d1... 10^point */
    bool more;    /* digits other than 0 were cut off */
};

static void trim(struct decimal *d)
{
    while (d->n && !d->digit[d->n - 1])
        d->n--;
    if (!d->n)
        d->point = 0;
}

/* d *= 2^k, 0 < k <= 50 */
static void shift_left(struct decimal *d, int k)
{
    uint8_t out[MAX_DIGITS + 20];
    int at = MAX_DIGITS + 20, n;
    uint64_t carry = 0;
    for (int i = d->n - 1; i >= 0; i--) {
        carry += (uint64_t)d->digit[i] << k;
        out[--at] = (uint8_t)(carry % 10);
        carry /= 10;
    }
    for (; carry; carry /= 10) {
        out[--at] = (uint8_t)(carry % 10);
        d->point++;
    }
    n = MAX_DIGITS + 20 - at;
    if (n > MAX_DIGITS) {
        for (int i = MAX_DIGITS; i < n; i++)
            d->more |= out[at + i] != 0;
        n = MAX_DIGITS;
    }
    memcpy(d->digit, out + at, (size_t)n);
    d->n = n;
    trim(d);
}

/* d /= 2^k, 0 < k <= 50 */
static void shift_right(struct decimal *d, int k)
{
    uint64_t rest = 0, mask = ((uint64_t)1 << k) - 1;
    int in = 0, out = 0;
    for (; !(rest >> k); in++) { /* digits until the quotient has one */
        if (in >= d->n && !rest)
            break;
        rest = rest * 10 + (in < d->n ? d->digit[in] : 0);
    }
    d->point -= in - 1;
    for (;;) {
        uint8_t q = (uint8_t)(rest >> k);
        rest &= mask;
        if (out < MAX_DIGITS)
            d->digit[out++] = q;
        else
            d->more |= q != 0;
        if (in >= d->n && !rest)
            break;
        if (out >= MAX_DIGITS && in >= d->n) {
            d->more = true;
            break;
        }
        rest = rest * 10 + (in < d->n ? d->digit[in] : 0);
        in++;
    }
    d->n = out;
    trim(d);
}

/* floor(d) for d < 2^60, and rounded to nearest even by what is behind the point */
static uint64_t rounded(const struct decimal *d)
{
    uint64_t v = 0;
    bool up;
    if (d->point < 0)
        return 0;
    for (int i = 0; i < d->point; i++)
        v = v * 10 + (i < d->n ? d->digit[i] : 0);
    if (d->point >= d->n)
        return v;
    up = d->digit[d->point] > 5;
    if (d->digit[d->point] == 5)
        up = d->point + 1 < d->n || d->more || (v & 1);
    return v + up;
}

static double decimal_to_f64(struct decimal *d)
{
    union {
        uint64_t u;
        double f;
    } v = {0};
    int e = 0; /* value = d 2^e */
    uint64_t man;
    trim(d);
    if (!d->n || d->point < -330)
        return 0;
    if (d->point > 310) {
        v.u = 0x7FF0000000000000u;
        return v.f;
    }
    while (d->point > 0) { /* bring d to [1/2, 1) */
        int k = d->point > 15 ? 50 : d->point > 3 ? 9 : d->point > 1 ? 3 : 1;
        shift_right(d, k);
        e += k;
    }
    while (d->point < 0 || (d->n && d->digit[0] < 5)) {
        int k = d->point < -15 ? 50 : d->point < -3 ? 9 : d->point < 0 ? 3 : 1;
        shift_left(d, k);
        e -= k;
    }
    if (e > 1024) {
        v.u = 0x7FF0000000000000u;
        return v.f;
    }
    if (e < -1021) { /* denormal: fewer bits */
        int k = -1021 - e;
        for (; k > 50; k -= 50)
            shift_right(d, 50);
        if (k)
            shift_right(d, k);
        e = -1021;
    }
    shift_left(d, 50);
    shift_left(d, 3);
    man = rounded(d);
    if (man == (uint64_t)1 << 53) {
        man >>= 1;
        e++;
    }
    if (e > 1024)
        v.u = 0x7FF0000000000000u;
    else if (man >> 52)
        v.u = (uint64_t)(e + 1022) << 52 | (man & 0xFFFFFFFFFFFFFu);
    else
        v.u = man;
    return v.f;
}

bool bi_parse_f64(const char *text, size_t n, double *out)
{
    static const double pow10_exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                         1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct decimal d;
    size_t i = 0, start;
    bool negative = false, any = false, point_seen = false;
    int exponent = 0, n_digits = 0;
    int64_t point = 0; /* digits before the point, leading zeros of a fraction negative */
    uint64_t small = 0;
    double x;
    d.n = 0;
    d.more = false;
    if (i < n && (text[i] == '-' || text[i] == '+'))
        negative = text[i++] == '-';
    for (; i < n; i++) {
        char c = text[i];
        if (c == '.' && !point_seen) {
            point_seen = true;
            continue;
        }
        if (c < '0' || c > '9')
            break;
        any = true;
        if (c == '0' && !n_digits) {
            point -= point_seen;
            continue;
        }
        point += !point_seen;
        n_digits++;
        if (n_digits <= 15)
            small = small * 10 + (uint64_t)(c - '0');
        if (d.n < MAX_DIGITS)
            d.digit[d.n++] = (uint8_t)(c - '0');
        else
            d.more |= c != '0';
        if (n_digits > INT32_MAX / 2)
            return false;
    }
    if (!any)
        return false;
    if (i < n && (text[i] == 'e' || text[i] == 'E')) {
        bool down = false;
        i++;
        if (i < n && (text[i] == '-' || text[i] == '+'))
            down = text[i++] == '-';
        for (start = i; i < n && text[i] >= '0' && text[i] <= '9'; i++)
            if (exponent < 100000000)
                exponent = exponent * 10 + (text[i] - '0');
        if (i == start)
            return false;
        if (down)
            exponent = -exponent;
    }
    if (i != n)
        return false;
    point += exponent;
    if (n_digits <= 15 && point - n_digits >= -22 && point - n_digits <= 22) {
        int p = (int)point - n_digits;
        x = p < 0 ? (double)small / pow10_exact[-p] : (double)small * pow10_exact[p];
    } else {
        d.point = point > 100000 ? 100000 : point < -100000 ? -100000 : (int)point;
        x = decimal_to_f64(&d);
    }
    *out = negative ? -x : x;
    return true;
}
