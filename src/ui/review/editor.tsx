import { Group, SegmentedControl, Text, Textarea, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type PropsWithChildren, useRef, useState } from 'react'
import type { SchemaFault } from '../../domain/output-schema.ts'
import type { Json } from '../api/wire.ts'
import { CodeDiff, CodeEditor } from '../code/index.tsx'
import { Warning } from '../parts/warning.tsx'
import classes from './editor.module.css'
import { FormFault } from './form/form-fault.tsx'
import { SchemaForm } from './form/index.tsx'
import { undrawnFields, whyNoForm } from './form/why-no-form.ts'
import { parsedJson, textOf } from './json-text.ts'
import { SchemaWarning } from './schema-warning.tsx'
import type { JsonObject } from './use-schema.ts'

interface EditorProps {
  output: Json
  /** JSON text, valid or not. */
  text: string
  onChange: (text: string) => void
  /** Undefined: not known yet. */
  schema: JsonObject | null | undefined
  /** Where what is written so far breaks the schema. */
  faults: readonly SchemaFault[]
}

type Mode = 'form' | 'text' | 'json'

const LABELS = { form: 'Form', text: 'Text', json: 'JSON' }
/** The comparison waits for a pause in typing. */
const DIFF_DELAY_MS = 200

/** Edits an output by a form made from its schema, as text where it is one, and as JSON, beside what has changed in it. */
export function Editor({ output, text, onChange, schema, faults }: EditorProps) {
  const parsed = parsedJson(text)
  const lastValid = useRef<Json>(output)
  if ('value' in parsed) lastValid.current = parsed.value
  const value = lastValid.current
  const [isFormFaulty, setFormFaulty] = useState(false)
  const drawingFault = isFormFaulty ? 'A form cannot be drawn from this schema' : undefined
  const refusal = schema ? (whyNoForm(schema, value) ?? drawingFault) : undefined
  const modes = modesFor(value, schema, refusal)
  const [chosen, setChosen] = useState<Mode>()
  const mode = chosen && modes.includes(chosen) ? chosen : (modes[0] ?? 'json')
  const fault = 'fault' in parsed ? parsed.fault : undefined
  const change = (changed: Json) => onChange(textOf(changed))
  const undrawn = mode === 'form' && schema ? undrawnFields(schema) : []
  return (
    <div className={classes.editor}>
      <section className={classes.side} aria-label="Edit">
        <Group justify="space-between" mih={28} gap="xs">
          <Title order={2}>Edit</Title>
          {modes.length > 1 && (
            <SegmentedControl
              size="xs"
              aria-label="How the output is edited"
              value={mode}
              onChange={next => setChosen(modes.find(each => each === next))}
              data={modes.map(each => ({ value: each, label: LABELS[each] }))}
            />
          )}
        </Group>
        {refusal !== undefined && (
          <Text size="sm" c="dimmed">
            {refusal}, so it is edited as JSON.
          </Text>
        )}
        {fault !== undefined && mode !== 'json' && (
          <NotJson fault={fault}>Below is its last valid value; a change there replaces the text.</NotJson>
        )}
        {mode === 'form' && schema && (
          <FormFault fallback={<Fallen onFall={() => setFormFaulty(true)} text={text} onChange={onChange} />}>
            <SchemaForm schema={schema} value={value} onChange={change} />
          </FormFault>
        )}
        {undrawn.length > 0 && (
          <Text size="sm" c="dimmed" className={classes.undrawn}>
            Not in the form, since the schema does not say how to draw them: {undrawn.join(', ')}. Edit them under JSON.
          </Text>
        )}
        {mode === 'text' && (
          <Textarea
            aria-label="Approved output"
            autosize
            minRows={6}
            maxRows={24}
            autoFocus
            dir="auto"
            value={typeof value === 'string' ? value : ''}
            onChange={({ currentTarget }) => change(currentTarget.value)}
          />
        )}
        {mode === 'json' && <JsonSide text={text} onChange={onChange} />}
        {/* Below the editor, which must not jump while somebody types. */}
        {fault !== undefined && mode === 'json' && <NotJson fault={fault}>It is kept as a draft.</NotJson>}
      </section>
      <Changes output={output} value={value} text={text} faults={faults} />
    </div>
  )
}

const NotJson = ({ fault, children }: PropsWithChildren<{ fault: string }>) => (
  <Warning>
    This is not JSON yet: {fault}. {children}
  </Warning>
)

const JsonSide = ({ text, onChange }: Pick<EditorProps, 'text' | 'onChange'>) => (
  <div className={classes.code}>
    <CodeEditor
      value={text}
      onChange={onChange}
      label="Approved output as JSON"
      autoFocus
      maxHeight="calc(100dvh - 14rem)"
    />
  </div>
)

/** What a form that failed leaves in its place. */
function Fallen({ onFall, ...side }: Pick<EditorProps, 'text' | 'onChange'> & { onFall: () => void }) {
  // Told once: after a fault the form is not tried again for this item.
  const isTold = useRef(false)
  if (!isTold.current) {
    isTold.current = true
    queueMicrotask(onFall)
  }
  return <JsonSide {...side} />
}

/** What the edit changes in the output. */
function Changes({ output, value, text, faults }: Pick<EditorProps, 'output' | 'text' | 'faults'> & { value: Json }) {
  const areTexts = typeof output === 'string' && typeof value === 'string'
  const before = areTexts ? output : textOf(output)
  const [after] = useDebouncedValue(areTexts ? value : text, DIFF_DELAY_MS)
  return (
    <section className={classes.side} aria-label="Changes">
      <Group mih={28}>
        <Title order={2}>Changes</Title>
      </Group>
      {faults.length > 0 && <SchemaWarning faults={faults} />}
      {before === after ? (
        <Text size="sm" c="dimmed">
          No changes. Saving accepts the output.
        </Text>
      ) : (
        <div className={classes.code}>
          <CodeDiff before={before} after={after} label="Changes to the output" language={areTexts ? 'text' : 'json'} />
        </div>
      )}
    </section>
  )
}

function modesFor(value: Json, schema: JsonObject | null | undefined, refusal: string | undefined): Mode[] {
  const hasForm = schema !== null && schema !== undefined && refusal === undefined
  const isPlainText = schema?.type === 'string' && !schema.enum && !schema.format
  if (hasForm && !isPlainText) return ['form', 'json']
  return typeof value === 'string' ? ['text', 'json'] : ['json']
}
