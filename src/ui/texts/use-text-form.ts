import type { FormEvent } from 'react'
import { fieldFaults } from '../parts/field-faults.ts'
import { useSubmission } from '../parts/use-submission.ts'
import type { TextDraft } from './draft.ts'
import { parseSchema } from './schema-text.ts'
import { useDraft } from './use-draft.ts'

interface TextFormOptions<Answer> {
  /** Where the browser stores the draft. */
  key: string
  initial: TextDraft
  /** The API's names for other fields that show their own errors. */
  fields?: readonly string[]
  send: (draft: TextDraft, outputSchema: object) => Promise<Answer>
  onDone: (answer: Answer, sent: TextDraft, discard: () => void) => unknown
}

/** A form for a text's first or next version. Its draft survives a reload. */
export function useTextForm<Answer>({ key, initial, fields = [], send, onDone }: TextFormOptions<Answer>) {
  const { draft, change, discard, ...state } = useDraft(key, initial)
  const { submit, isPending, error } = useSubmission({
    send: (sent: { draft: TextDraft; schema: object }) => send(sent.draft, sent.schema),
    onDone: (answer, sent) => onDone(answer, sent.draft, discard),
  })
  const schema = parseSchema(draft.schema)
  return {
    ...state,
    draft,
    change,
    discard,
    faults: fieldFaults(error, [...fields, 'content', 'outputSchema', 'note']),
    schemaFault: 'fault' in schema ? schema.fault : undefined,
    isPending,
    onSubmit: (event: FormEvent) => {
      event.preventDefault()
      if ('schema' in schema) submit({ draft, schema: schema.schema })
    },
  }
}
