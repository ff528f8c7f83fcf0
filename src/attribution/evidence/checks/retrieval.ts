import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { termsOf, termsOfValue } from '../../text/terms.ts'
import type { Scene } from '../scene.ts'
import { type Source, slugOf } from '../sources.ts'

/**
 * Checks whether the right docs were fetched, judging by the words of the request, the correction, and the comments.
 */
export function* checkRetrieval(scene: Scene): Generator<Finding> {
  const { retrievals, sources, dispute, root } = scene
  const [retrieval] = retrievals
  if (!retrieval) return
  const at = { spanId: retrieval.step.spanId, path: retrieval.path }
  if (retrieval.isEmpty) yield { kind: 'fetched_nothing', ...at, note: 'is empty', strength: 1 }
  const docs = sources.filter(({ kind }) => kind === 'doc')
  if (docs.length === 0) {
    yield { kind: 'fetched', ...at, note: 'was fetched', strength: 0.5 }
    return
  }
  const fetched = new Set(retrievals.flatMap(({ slugs }) => slugs))
  const request = scoresOf(docs, [...termsOfValue(root.input).words.keys()])
  const wanted = dispute?.difference ? [...dispute.difference.gained.words.keys()] : []
  const commentWords = dispute?.comments.flatMap(comment => [...termsOf(comment).words.keys()]) ?? []
  const answer = scoresOf(docs, [...wanted, ...commentWords])
  const score = (doc: Source) => (request.get(doc) ?? 0) + (answer.get(doc) ?? 0)
  const ranked = docs.toSorted((left, right) => score(right) - score(left))
  const best = ranked.find(doc => !fetched.has(slugOf(doc)))
  const bestFetched = ranked.find(doc => fetched.has(slugOf(doc)))
  const lead = best ? score(best) - (bestFetched ? score(bestFetched) : 0) : -1
  if (best && lead > 0.05) {
    yield {
      kind: 'better_doc_not_fetched',
      ...at,
      note: `lacks the knowledge doc "${slugOf(best)}", which matches the request better than the fetched docs do`,
      strength: Math.min(1, 0.3 + lead),
    }
  } else if (bestFetched) {
    yield {
      kind: 'best_doc_fetched',
      ...at,
      note: `contains the knowledge doc "${slugOf(bestFetched)}", which matches the request best`,
      strength: 1,
    }
  }
}

/** The weighted share of the stems that each doc contains. The fewer docs contain a stem, the more it weighs. */
function scoresOf(docs: readonly Source[], stems: readonly string[]): Map<Source, number> {
  const distinct = [...new Set(stems)]
  spend(2 * docs.length * distinct.length)
  const weights = distinct.map(stem => {
    const count = docs.filter(({ terms }) => terms.words.has(stem)).length
    return count === 0 ? 0 : Math.log(1 + docs.length / count)
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  return new Map(
    docs.map(doc => {
      const own = distinct.reduce(
        (sum, stem, index) => sum + (doc.terms.words.has(stem) ? (weights[index] ?? 0) : 0),
        0,
      )
      return [doc, total === 0 ? 0 : own / total]
    }),
  )
}
