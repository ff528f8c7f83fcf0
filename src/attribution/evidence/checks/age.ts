import { DAY_MS } from '../../../limits.ts'
import { spend } from '../../effort.ts'
import type { Finding } from '../../finding.ts'
import { termsOf, termsOfValue } from '../../text/terms.ts'
import { CHANGE, UNTIL } from '../../text/vocabulary.ts'
import type { Scene } from '../scene.ts'
import { locationOf, quote, type Source, supportOf } from '../sources.ts'

/** Text older than this is treated as possibly outdated. */
const OLD_DAYS = 240

/** Checks whether the output's sources were still valid, based on their dates and on comments about changes. */
export function* checkAge(scene: Scene): Generator<Finding> {
  const { dispute, subject, visible, prompts, sources } = scene
  if (!dispute) return
  const comments = dispute.comments.join('\n')
  const commentTerms = termsOf(comments)
  const change = CHANGE.exec(comments)
  const dated = commentTerms.facts.find(({ kind }) => kind === 'date')
  if (change || dated) {
    yield {
      kind: 'comment_reports_change',
      spanId: dispute.step.spanId,
      path: 'feedback',
      note: `says ${quote(comments)}`,
      strength: (change ? 0.6 : 0) + (dated ? 0.4 : 0),
    }
  }
  const lost = dispute.difference?.lost ?? termsOfValue(dispute.step.output)
  const texts = [
    ...visible.filter(({ kind }) => kind === 'retrieved' || kind === 'doc' || kind === 'state'),
    ...prompts,
  ]
  const basis = texts.filter(source => {
    const { found, weight } = supportOf(lost, [source])
    return found > 0.3 && weight >= 1
  })
  const fullTexts = basis.map(source => docOf(source, sources) ?? source)
  for (const source of new Set(fullTexts)) {
    const ages = agesOf(source, subject.timestamp)
    const at = locationOf(source)
    const [youngest] = ages.filter(({ days }) => days > 0).toSorted((left, right) => left.days - right.days)
    const hasPassed = ages.find(({ days, isEnd }) => isEnd && days > 0)
    if (hasPassed) yield { kind: 'source_expired', ...at, note: `was valid only until ${hasPassed.text}`, strength: 1 }
    else if (youngest && youngest.days >= OLD_DAYS)
      yield {
        kind: 'source_old',
        ...at,
        note: `dates from ${youngest.text}, ${Math.round(youngest.days / 30)} months before the run`,
        strength: Math.min(1, youngest.days / 500),
      }
    else if (youngest)
      yield { kind: 'source_current', ...at, note: `dates from ${youngest.text}, shortly before the run`, strength: 1 }
    const isConfirmed = source.terms.facts.some(({ readings }) =>
      readings.includes(`n:${new Date(subject.timestamp).getUTCFullYear()}`),
    )
    if (isConfirmed && !youngest)
      yield { kind: 'source_current', ...at, note: 'mentions the year of the run', strength: 0.6 }
  }
}

/** The knowledge doc that a passage was fetched from. It may contain dates that the passage lacks. */
function docOf(source: Source, sources: readonly Source[]): Source | undefined {
  if (source.kind !== 'retrieved') return undefined
  const docs = sources.filter(({ kind }) => kind === 'doc')
  const scored = docs.map(doc => ({ doc, found: supportOf(source.terms, [doc]).found }))
  const best = scored.toSorted((left, right) => right.found - left.found)[0]
  return best && best.found > 0.6 ? best.doc : undefined
}

/** The dates and years in a string, each as the number of days before the run. */
function agesOf({ value, terms }: Source, runAt: number): { text: string; days: number; isEnd: boolean }[] {
  const text = JSON.stringify(value)
  spend(text.length / 4)
  return terms.facts.flatMap(({ text: written, kind, readings }) => {
    const [reading = ''] = readings
    const date =
      kind === 'date'
        ? (/^d:(\d{4}-\d{2}(?:-\d{2})?)$/.exec(reading)?.[1] ?? '')
        : (/^n:(20\d{2})$/.exec(reading)?.[1] ?? '')
    if (date === '') return []
    // A month or year counts from its last day.
    const end = date.length === 10 ? date : date.length === 7 ? `${date}-28` : `${date}-12-31`
    const at = text.indexOf(written)
    spend(20 + (at < 0 ? text.length : at) / 20)
    const isEnd = UNTIL.test(text.slice(Math.max(0, at - 25), at + written.length + 8))
    const days = (runAt - Date.parse(end)) / DAY_MS
    return [{ text: written, days: date.length === 4 && days < 0 ? 0 : days, isEnd }]
  })
}
