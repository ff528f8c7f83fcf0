/**
 * The rules' results on labeled cases. An independent author wrote the cases, and none of that author's cases were used
 * for tuning. Measure again for each version.
 */
export const MEASURED = { version: '4', cases: 36, right: 17, interval: { low: 0.32, high: 0.63 } } as const
