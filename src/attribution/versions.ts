/**
 * The versions of the engines. Each answer stores one, so `GET /api/attribution-quality` can compare them. Raise an
 * engine's version with every change that affects its answers; otherwise, `test/scripts/engine-versions.test.ts` fails.
 */

/** The version of the checks, the weights, and how they become an answer. */
export const RULES_VERSION = '4'

/** The version of the question that a model gets. */
export const QUESTION_VERSION = '3'
