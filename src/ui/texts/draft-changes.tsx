import type { TextDraft } from './draft.ts'
import type { TextKind, Version } from './kinds.ts'
import { schemaText } from './schema-text.ts'
import { TextDiff } from './text-diff.tsx'

interface DraftChangesProps {
  kind: TextKind
  draft: TextDraft
  active: Version | undefined
}

/** A draft's changes to the active version. */
export const DraftChanges = ({ kind, draft, active }: DraftChangesProps) => (
  <>
    <TextDiff label="Content" language="text" before={active?.content ?? ''} after={draft.content} />
    {kind.hasSchema && (
      <TextDiff
        label="Output schema"
        language="json"
        before={schemaText(active?.outputSchema ?? null)}
        after={draft.schema}
      />
    )}
  </>
)
