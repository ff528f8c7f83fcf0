import { Group, SegmentedControl, Text, Textarea, Title } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { type PropsWithChildren, useRef, useState } from 'react'
import type { SchemaFault } from '../../domain/output-schema.ts'
import type { Json } from '../api/wire.ts'
import { CodeDiff, CodeEditor } from '../code/index.tsx'
import { FaultBoundary } from '../parts/fault-boundary.tsx'
import { Warning } from '../parts/warning.tsx'
import classes from './editor.module.css'
import { SchemaForm } from './form/index.tsx'
import { undescribedFields, whyNoForm } from './form/why-no-form.ts'
import { parsedJson, textOf } from './json-text.ts'
import { WRONG_UNCHANGED } from './marked-wrong.ts'
import { SchemaWarning } from './schema-warning.tsx'
import type { JsonObject } from './use-schema.ts'

interface EditorProps {
  output: Json
  /** JSON text, valid or not. */
  text: string
  onChange: (text: string) => void
  /** Undefined while loading. */
  schema: JsonObject | null | undefined
  /** Where the current text doesn't match the schema. */
  faults: readonly SchemaFault[]
  /** Whether the reviewer marked the output as wrong. If so, it can't be saved unchanged. */
  isWrong: boolean
}

type Mode = 'form' | 'text' | 'json'

const LABELS = { form: 'Form', text: 'Text', json: 'JSON' }
/** The diff updates after a pause in typing. */
const DIFF_DELAY_MS = 200

/** Edits an output as a schema form, as text, or as JSON, next to a diff of the changes. */
export function Editor({ output, text, onChange, schema, faults, isWrong }: EditorProps) {
  const parsed = parsedJson(text)
  const lastValid = useRef<Json>(output)
  if ('value' in parsed) lastValid.current = parsed.value
  const value = lastValid.current
  const [isFormFaulty, setFormFaulty] = useState(false)
  const formFault = isFormFaulty ? "This schema can't be shown as a form" : undefined
  const refusal = schema ? (whyNoForm(schema, value) ?? formFault) : undefined
  const modes = modesFor(value, schema, refusal)
  const [chosen, setChosen] = useState<Mode>()
  const mode = chosen && modes.includes(chosen) ? chosen : (modes[0] ?? 'json')
  const fault = 'fault' in parsed ? parsed.fault : undefined
  const change = (changed: Json) => onChange(textOf(changed))
  const undescribed = mode === 'form' && schema ? undescribedFields(schema) : []
  return (
    <div className={classes.editor}>
      <section className={classes.side} aria-label="Edit">
        <Group justify="space-between" mih={28} gap="xs">
          <Title order={2}>Edit</Title>
          {modes.length > 1 && (
            <SegmentedControl
              size="xs"
              aria-label="Editing mode"
              value={mode}
              onChange={next => setChosen(modes.find(each => each === next))}
              data={modes.map(each => ({ value: each, label: LABELS[each] }))}
            />
          )}
        </Group>
        {refusal !== undefined && (
          <Text size="sm" c="dimmed">
            {refusal}. Edit the output as JSON.
          </Text>
        )}
        {fault !== undefined && mode !== 'json' && (
          <NotJson fault={fault}>
            The form shows the last valid value. If you edit the form, it replaces your text.
          </NotJson>
        )}
        {mode === 'form' && schema && (
          <FaultBoundary fallback={<FormFallback onFail={() => setFormFaulty(true)} text={text} onChange={onChange} />}>
            <SchemaForm schema={schema} value={value} onChange={change} />
          </FaultBoundary>
        )}
        {undescribed.length > 0 && (
          <Text size="sm" c="dimmed" className={classes.undescribed}>
            The schema doesn't describe these fields, so they aren't in the form: {undescribed.join(', ')}. Edit them as
            JSON.
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
        {/* Below the editor, so that the editor doesn't jump during typing. */}
        {fault !== undefined && mode === 'json' && <NotJson fault={fault}>Your draft is kept.</NotJson>}
      </section>
      <Changes output={output} value={value} text={text} faults={faults} isWrong={isWrong} />
    </div>
  )
}

const NotJson = ({ fault, children }: PropsWithChildren<{ fault: string }>) => (
  <Warning>
    Not valid JSON yet: {fault}. {children}
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

/** Replaces a form that failed to render. */
function FormFallback({ onFail, ...side }: Pick<EditorProps, 'text' | 'onChange'> & { onFail: () => void }) {
  // Report the failure only once. The form isn't tried again for this item.
  const isReported = useRef(false)
  if (!isReported.current) {
    isReported.current = true
    queueMicrotask(onFail)
  }
  return <JsonSide {...side} />
}

type ChangesProps = Pick<EditorProps, 'output' | 'text' | 'faults' | 'isWrong'> & { value: Json }

/** A diff of the output and the edit. */
function Changes({ output, value, text, faults, isWrong }: ChangesProps) {
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
          {isWrong ? `No changes yet. ${WRONG_UNCHANGED}` : 'No changes. Saving accepts the output.'}
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
