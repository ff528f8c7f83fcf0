import { sql } from 'drizzle-orm'
import { counted, formatCount } from '../../domain/counted.ts'
import type { KnowledgeDoc } from '../../domain/subject.ts'
import { MAX_SUBJECT_DOCS, MAX_SUBJECT_TEXT_BYTES } from '../../limits.ts'
import { readPlain } from '../core/database.ts'
import type { Store } from '../core/store.ts'
import { textVersions } from '../schema/texts.ts'
import type { SpanDetail } from '../spans/span-detail.ts'
import type { Outline } from './outline.ts'

/**
 * Reads the project's knowledge docs as they were when the trace arrived. If there are too many, the docs that the
 * trace mentions come first.
 */
export async function readKnowledgeDocs(
  { database }: Store,
  { docs, counts }: Outline,
  shown: readonly SpanDetail[],
  omitted: string[],
): Promise<KnowledgeDoc[]> {
  const chosen = chooseDocs(docs, shown)
  const omittedCount = counts.docs - chosen.length
  if (omittedCount > 0) omitted.push(`${formatCount(omittedCount)} of ${counted(counts.docs, 'knowledge doc')}`)
  if (chosen.length === 0) return []
  const keys = JSON.stringify(chosen.map(({ versionKey }) => versionKey))
  const [versions] = await readPlain(database, [
    database
      .select({
        key: sql<number>`${textVersions.key}`.as('key'),
        content: sql<string>`${textVersions.content}`.as('content'),
      })
      .from(sql`json_each(${keys}) as item`)
      .crossJoin(textVersions)
      .where(sql`${textVersions.key} = item.value`),
  ])
  const contentOf = new Map(versions.map(({ key, content }) => [key, content]))
  return chosen.flatMap(({ slug, title, versionKey }) => {
    const content = contentOf.get(versionKey)
    return content === undefined ? [] : [{ slug, title, content }]
  })
}

function chooseDocs(docs: Outline['docs'], shown: readonly SpanDetail[]): Outline['docs'] {
  const total = docs.reduce((sum, { bytes }) => sum + bytes, 0)
  if (docs.length <= MAX_SUBJECT_DOCS && total <= MAX_SUBJECT_TEXT_BYTES) return docs
  const words = new Set(shown.flatMap(wordsOf))
  const isNamed = ({ slug }: { slug: string }) => words.has(slug)
  let bytes = 0
  return [...docs.filter(isNamed), ...docs.filter(doc => !isNamed(doc))]
    .filter(doc => {
      const fits = bytes + doc.bytes <= MAX_SUBJECT_TEXT_BYTES
      if (fits) bytes += doc.bytes
      return fits
    })
    .slice(0, MAX_SUBJECT_DOCS)
}

/** The words in a span that may be slugs. */
const wordsOf = ({ input, output, state, metadata }: SpanDetail): string[] =>
  [input, output, ...Object.values(state), metadata].flatMap(({ text }) => text.match(/[a-z0-9][a-z0-9-]*/g) ?? [])
