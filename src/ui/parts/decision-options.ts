/** The decisions to filter by. */
export const DECISION_OPTIONS = [
  { value: 'accept', label: 'Accepted' },
  { value: 'correct', label: 'Corrected' },
] as const
