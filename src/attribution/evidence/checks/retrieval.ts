import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { termsOf, termsOfValue } from '../../text/terms.ts'
import type { Scene } from '../scene.ts'
import { type Source, slugOf } from '../sources.ts'

/**
 * How much better another doc must match than the fetched docs do. A smaller difference may come from a few common
 * words.
 */
const MIN_LEAD = 0.25

/** Checks whether the right docs were fetched, judging by the words in the request and the correction. */
export function* checkRetrieval({ retrievals, sources, dispute, root }: Scene): Generator<Finding> {
  const retrieval = retrievals.find(({ step, slugs }) => slugs.length > 0 && !step.isRoot) ?? retrievals[0]
  if (!retrieval) return
  const at = { spanId: retrieval.step.spanId, path: retrieval.path }
  if (retrievals.every(({ isEmpty }) => isEmpty))
    yield { kind: 'fetched_nothing', ...at, note: 'is empty', strength: 1 }
  const docs = sources.filter(({ kind }) => kind === 'doc')
  const fetched = new Set(retrievals.flatMap(({ slugs }) => slugs))
  const comments = dispute?.comments.flatMap(comment => [...termsOf(comment).words.keys()]) ?? []
  const request = scoresOf(docs, [...termsOfValue(root.input).words.keys()])
  const answer = scoresOf(docs, [...(dispute?.difference?.gained.words.keys() ?? []), ...comments])
  const score = (doc: Source) => (request.get(doc) ?? 0) + (answer.get(doc) ?? 0)
  const ranked = docs.toSorted((left, right) => score(right) - score(left))
  const best = ranked.find(doc => !fetched.has(slugOf(doc)))
  const bestFetched = ranked.find(doc => fetched.has(slugOf(doc)))
  const lead = (best ? score(best) : 0) - (bestFetched ? score(bestFetched) : 0)
  if (best && lead > MIN_LEAD) {
    const note = `lacks the knowledge doc "${slugOf(best)}", which matches the request better than the fetched docs do`
    yield { kind: 'better_doc_not_fetched', ...at, note, strength: 1 }
  } else if (bestFetched) {
    const note = `contains the knowledge doc "${slugOf(bestFetched)}", and no other doc matches the request much better`
    yield { kind: 'best_doc_fetched', ...at, note, strength: 1 }
  }
}

/** The weighted share of the stems that each doc contains. A stem weighs more if fewer docs contain it. */
function scoresOf(docs: readonly Source[], stems: readonly string[]): Map<Source, number> {
  const distinct = [...new Set(stems)]
  spend(2 * docs.length * distinct.length)
  const weights = new Map(
    distinct.map(stem => {
      const count = docs.filter(({ terms }) => terms.words.has(stem)).length
      return [stem, Math.log(1 + docs.length / Math.max(1, count))] as const
    }),
  )
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  const own = ({ terms }: Source) =>
    distinct.reduce((sum, stem) => sum + (terms.words.has(stem) ? (weights.get(stem) ?? 0) : 0), 0)
  return new Map(docs.map(doc => [doc, total === 0 ? 0 : own(doc) / total]))
}
