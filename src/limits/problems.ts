import { DAY_MS } from './units.ts'

/** How many problem ids one round trip stores, and how many of these round trips a request can make: 10,000 in total. */
export const NAMED_PROBLEMS = 1000
export const MAX_NAMING_ROUNDS = 10
/** The newest cases that a problem shows: enough to see a pattern, but few enough to read. */
export const MAX_PROBLEM_EXAMPLES = 5
/** How many problems with a candidate fit on one page. Each one's state takes up to six of a request's 50 queries. */
export const MAX_LISTED_CANDIDATES = 7
/** How long new cases can reopen a problem after its verification. */
export const REOPENING_MS = 30 * DAY_MS
/** Problems that a page looks at to find those in one state. */
export const MAX_SCANNED_PROBLEMS = 1000
