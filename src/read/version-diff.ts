import * as v from 'valibot'
import type { Caller } from '../auth/authenticate.ts'
import type { Json } from '../domain/json.ts'
import { diffJson } from '../domain/json-diff.ts'
import { diffLines } from '../domain/text-diff.ts'
import type { TextKind } from '../domain/versioned-text.ts'
import { JsonValue } from '../http/atoms.ts'
import { notFound } from '../http/errors.ts'
import type { Store, UnscopedStore } from '../store/core/store.ts'
import { findTextHead, findVersions, type TextVersion } from '../store/texts/versioned-texts.ts'
import { requireText } from './texts.ts'

/** A comparison of two versions of a text. */
export const VersionDiff = v.object({
  lines: v.pipe(
    v.array(v.object({ op: v.picklist(['same', 'add', 'remove']), text: v.string() })),
    v.metadata({
      description:
        "The content's lines. If lines were replaced, the removed ones come before the added ones. Lines with 'add' are only in the second version.",
    }),
  ),
  isMinimal: v.pipe(
    v.boolean(),
    v.metadata({
      description: `Whether this is the smallest possible diff. If the texts have too little in common to find the smallest one in bounded time, this is false, and everything between the first and the last difference is shown as removed and added.`,
    }),
  ),
  schema: v.pipe(
    v.array(
      v.object({
        path: v.pipe(
          v.string(),
          v.metadata({ description: 'A dotted path, such as properties.answer.type or required.1' }),
        ),
        op: v.picklist(['add', 'remove', 'change']),
        before: JsonValue,
        after: JsonValue,
      }),
    ),
    v.metadata({ description: "Changes to a prompt's outputSchema. Empty for a knowledge doc." }),
  ),
})

/**
 * Compares versions `a` and `b` of a text. 404 if the text has no such versions. Also throws what `requireText` throws.
 */
export async function versionDiff(
  context: { caller: Caller; store: Store; unscoped: UnscopedStore },
  named: { kind: TextKind; id: string },
  { a, b }: { a: string; b: string },
): Promise<v.InferOutput<typeof VersionDiff>> {
  const text = await requireText(context, named, await findTextHead(context.store, named))
  const [before, after] = await findVersions(context.store, text, [a, b])
  if (!before || !after) throw notFound()
  return { ...diffLines(before.content, after.content), schema: diffJson(schemaOf(before), schemaOf(after)) }
}

const schemaOf = ({ outputSchema }: TextVersion): Json => (outputSchema ? JSON.parse(outputSchema.text) : {})
