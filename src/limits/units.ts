export const DAY_MS = 24 * 3_600_000
/** The most bytes that text can take up in a JSON body, where each byte may become a six-character escape. */
export const escaped = (bytes: number): number => 6 * bytes
