/**
 * The versions of the engines, which answers keep, so that `GET /api/attribution-quality` compares them. Raise one with
 * each change that changes answers; `test/scripts/engine-versions.test.ts` fails otherwise.
 */

/** The version of the checks, the weights, and how they become an answer. */
export const RULES_VERSION = '4'

/** The version of the question that a model gets. */
export const QUESTION_VERSION = '3'
