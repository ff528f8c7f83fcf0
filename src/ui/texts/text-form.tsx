import { Button, Group, Input, Stack, TextInput } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import { CodeEditor } from '../code/index.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { DraftState } from './draft-state.tsx'
import type { TextKind } from './kinds.ts'
import classes from './text-form.module.css'
import type { useTextForm } from './use-text-form.ts'

type Form = ReturnType<typeof useTextForm>

interface TextFormProps {
  form: Form
  /** The submit button's label. */
  act: string
  /** The title of an error that isn't about a field. */
  faultTitle: string
  onCancel: () => void
}

/** Everything in a form besides its fields: errors, the state of the draft, and the buttons. */
export function TextForm({ form, act, faultTitle, onCancel, children }: PropsWithChildren<TextFormProps>) {
  const { draft, faults, schemaFault, isChanged, isKept, discard, isPending, onSubmit } = form
  return (
    <form onSubmit={onSubmit}>
      <Stack gap="sm">
        {children}
        {faults.rest && <FaultAlert error={faults.rest} title={faultTitle} />}
        <Group justify="space-between">
          <DraftState isChanged={isChanged} isKept={isKept} onDiscard={discard} />
          <Group gap="xs" ml="auto">
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
            <Button type="submit" loading={isPending} disabled={draft.content === '' || schemaFault !== undefined}>
              {act}
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  )
}

/** The text of a version and, if the kind has one, the JSON Schema of the step's output. */
export const ContentFields = ({ kind, form }: { kind: TextKind; form: Form }) => (
  <>
    <Input.Wrapper label="Content" labelElement="div" error={form.faults.of('content')} withAsterisk>
      <div className={classes.editor}>
        <CodeEditor
          value={form.draft.content}
          onChange={content => form.change({ content })}
          label="Content"
          language="text"
          minHeight="14rem"
          maxHeight="55vh"
        />
      </div>
    </Input.Wrapper>
    {kind.hasSchema && (
      <Input.Wrapper
        label="Output schema"
        labelElement="div"
        description="A JSON Schema for the step's output. Reviewers edit outputs in a form based on it, and corrections must match it. {} allows any output."
        error={form.schemaFault ?? form.faults.of('outputSchema')}
      >
        <div className={classes.editor}>
          <CodeEditor
            value={form.draft.schema}
            onChange={schema => form.change({ schema })}
            label="Output schema"
            minHeight="8rem"
            maxHeight="40vh"
          />
        </div>
      </Input.Wrapper>
    )}
  </>
)

export const NoteField = ({ form }: { form: Form }) => (
  <TextInput
    label="Note"
    description="Why you created this version."
    value={form.draft.note}
    onChange={({ currentTarget }) => form.change({ note: currentTarget.value })}
    error={form.faults.of('note')}
  />
)
