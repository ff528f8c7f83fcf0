/** A generator of random numbers that are at least 0 and less than 1. */
export type Random = () => number

/** A generator that gives the same numbers for the same seed: sfc32, from C. Doty-Humphrey's PractRand. */
export function seededRandom(seed: number): Random {
  let [a, b, c, counter] = [0, seed | 0, 0, 1]
  const next = (): number => {
    const sum = (a + b + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (((c << 21) | (c >>> 11)) + sum) | 0
    return (sum >>> 0) / 2 ** 32
  }
  // Discards the first numbers, which still reflect the seed.
  for (let i = 0; i < 15; i++) next()
  return next
}

/** If fewer successes are expected, counting up from 0 takes fewer steps than rejection sampling. */
const MIN_REJECTED_MEAN = 10

/** How many of n trials succeed, each with probability p. Takes a bounded time on average, whatever n is. */
export function drawBinomial(random: Random, n: number, p: number): number {
  if (n === 0 || p <= 0) return 0
  if (p >= 1) return n
  if (p > 0.5) return n - drawBinomial(random, n, 1 - p)
  return n * p < MIN_REJECTED_MEAN ? drawByInversion(random, n, p) : drawByRejection(random, n, p)
}

/** Adds the probabilities of 0, 1, 2… successes until they exceed a random number. */
function drawByInversion(random: Random, n: number, p: number): number {
  const odds = p / (1 - p)
  let rest = random()
  let probability = (1 - p) ** n
  let successes = 0
  while (rest > probability && successes < n) {
    rest -= probability
    successes++
    probability *= ((n - successes + 1) / successes) * odds
  }
  return successes
}

/**
 * Transformed rejection with squeeze (W. Hörmann, The generation of binomial random variates, 1993, algorithm BTRS, doi
 * 10.1080/00949659308811496), for p up to 1/2 and a mean of at least 10.
 */
function drawByRejection(random: Random, n: number, p: number): number {
  const deviation = Math.sqrt(n * p * (1 - p))
  const b = 1.15 + 2.53 * deviation
  const a = -0.0873 + 0.0248 * b + 0.01 * p
  const center = n * p + 0.5
  const squeeze = 0.92 - 4.2 / b
  const mode = Math.floor((n + 1) * p)
  for (;;) {
    const u = random() - 0.5
    const v = random()
    const distance = 0.5 - Math.abs(u)
    const successes = Math.floor(((2 * a) / distance + b) * u + center)
    if (distance >= 0.07 && v <= squeeze) return successes
    if (successes < 0 || successes > n) continue
    const limit = Math.log((v * (2.83 + 5.1 / b) * deviation) / (a / (distance * distance) + b))
    const logOdds = Math.log(p / (1 - p))
    if (limit <= logTerm(n, mode) - logTerm(n, successes) + (successes - mode) * logOdds) return successes
  }
}

/** ln(k! (n − k)!). */
const logTerm = (n: number, k: number): number => logFactorial(k) + logFactorial(n - k)

/** ln k!: the sum for small numbers, and Stirling's series for larger ones. */
function logFactorial(k: number): number {
  if (k < SMALL.length) return SMALL[k] ?? 0
  return (k + 0.5) * Math.log(k) - k + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * k) - 1 / (360 * k ** 3)
}

const SMALL = [0]
for (let k = 1; k < 20; k++) SMALL.push((SMALL.at(-1) ?? 0) + Math.log(k))
