import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { termsOf, termsOfValue } from '../../text/terms.ts'
import type { Scene } from '../scene.ts'
import { locationOf, type Source, slugOf, supportOf } from '../sources.ts'

/** Checks whether the right docs were fetched, by the words of the request and the correction, and whether any expired. */
export function* checkRetrieval(scene: Scene): Generator<Finding> {
  const { retrievals, sources, dispute, root } = scene
  yield* checkExpiry(scene)
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
  const lead = best ? score(best) - (bestFetched ? score(bestFetched) : 0) : -1
  if (best && lead > 0.05) {
    const note = `lacks the knowledge doc "${slugOf(best)}", which matches the request better than the fetched docs do`
    yield { kind: 'better_doc_not_fetched', ...at, note, strength: Math.min(1, 0.3 + lead) }
  } else if (bestFetched) {
    const note = `contains the knowledge doc "${slugOf(bestFetched)}", which matches the request best`
    yield { kind: 'best_doc_fetched', ...at, note, strength: 1 }
  }
}

/** The weighted share of the stems that each doc contains. The fewer docs contain a stem, the more it weighs. */
function scoresOf(docs: readonly Source[], stems: readonly string[]): Map<Source, number> {
  const distinct = [...new Set(stems)]
  spend(2 * docs.length * distinct.length)
  const weights = new Map(
    distinct.map(stem => {
      const count = docs.filter(({ terms }) => terms.words.has(stem)).length
      return [stem, count === 0 ? 0 : Math.log(1 + docs.length / count)] as const
    }),
  )
  const total = [...weights.values()].reduce((sum, weight) => sum + weight, 0)
  const own = ({ terms }: Source) =>
    distinct.reduce((sum, stem) => sum + (terms.words.has(stem) ? (weights.get(stem) ?? 0) : 0), 0)
  return new Map(docs.map(doc => [doc, total === 0 ? 0 : own(doc) / total]))
}

/** Reports a source of the removed values that says it had ended before the run. */
function* checkExpiry({ dispute, subject, visible, prompts }: Scene): Generator<Finding> {
  const lost = dispute?.difference?.lost ?? termsOfValue(dispute?.step.output ?? null)
  for (const source of [...visible, ...prompts]) {
    if (source.kind === 'input' || source.kind === 'output' || source.kind === 'metadata') continue
    const { found, weight } = supportOf(lost, [source])
    if (found <= 0.3 || weight < 1) continue
    const text = JSON.stringify(source.value)
    spend(2 * text.length)
    const ended = [...text.matchAll(UNTIL)].find(([, end = '']) => {
      const [reading = ''] = termsOf(end).facts[0]?.readings ?? []
      // A month ends on its last day.
      const at = /^d:\d{4}-\d{2}(-\d{2})?$/.test(reading) ? Date.parse(reading.slice(2).padEnd(10, '-28')) : Number.NaN
      return at < subject.timestamp
    })
    if (!ended) continue
    const note = `was valid only until ${ended[1]?.trim()}`
    yield { kind: 'source_expired', ...locationOf(source), note, strength: 1 }
  }
}

/** A date after the word that makes it an end. */
const UNTIL =
  /(?:until|valid (?:to|through|till)|expire[sd]?(?: on)?|gültig bis|jusqu'au|hasta el|fino al|geldig tot|do dnia|till och med|até)[:\s]+([^;()"]{4,20})/giu
