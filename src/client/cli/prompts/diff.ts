import { isJsonObject, type JsonObject } from '../../../domain/json.ts'
import { diffJson, type JsonChange } from '../../../domain/json-diff.ts'
import { diffLines, type LineChange } from '../../../domain/text-diff.ts'
import type { Output, Style } from '../output.ts'
import type { Content } from './folder.ts'

/** How two versions differ. */
export interface Difference {
  lines: LineChange[]
  schema: JsonChange[]
}

/** Compares two versions, line by line, and their schemas field by field. */
export const differenceOf = (before: Content, after: Content): Difference => ({
  lines: diffLines(before.content, after.content).lines,
  schema: diffJson(asJson(before.outputSchema), asJson(after.outputSchema)),
})

/** A schema that was read from JSON. */
const asJson = (schema: unknown): JsonObject => (isJsonObject(schema) ? schema : {})

/** Lines shown around a change. */
const CONTEXT_LINES = 3

const MARKS = { same: [' ', 'plain'], add: ['+', 'added'], remove: ['-', 'removed'] } as const satisfies Record<
  LineChange['op'],
  readonly [string, Style]
>

/** Prints a difference like `diff -u`. */
export async function printDifference(out: Output, { lines, schema }: Difference): Promise<void> {
  const isShown = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1).some(({ op }) => op !== 'same'),
  )
  for (const [index, { op, text }] of lines.entries()) {
    if (!isShown[index]) {
      if (isShown[index - 1]) await out.line('  …', 'faint')
      continue
    }
    const [mark, style] = MARKS[op]
    await out.line(`  ${mark} ${text}`, style)
  }
  for (const { path, op, before, after } of schema) {
    const place = path === '' ? 'the schema' : path
    if (op !== 'add') await out.line(`  - schema ${place}: ${JSON.stringify(before)}`, 'removed')
    if (op !== 'remove') await out.line(`  + schema ${place}: ${JSON.stringify(after)}`, 'added')
  }
}
