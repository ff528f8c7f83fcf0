import { Button, Code, List, Stack, Text, Textarea } from '@mantine/core'
import { useMemo, useRef } from 'react'
import type { Dataset } from '../api/wire.ts'
import { IconUpload } from '../icons/index.ts'
import { DialogForm } from '../parts/dialog-form.tsx'
import { count, counted } from '../parts/format.ts'
import { type ExampleFault, type NewExample, readExamples } from './examples.ts'
import { refreshDataset } from './queries.ts'
import { sendExamples } from './send-examples.ts'

const PLACEHOLDER = '{"input": {"question": "How long is the warranty?"}, "expected": "24 months."}'

/** Imports pasted examples into a dataset. */
export function ImportExamples({ dataset: { id } }: { dataset: Dataset }) {
  const idFor = useExampleIds()
  return (
    <DialogForm
      trigger={open => (
        <Button size="xs" variant="default" leftSection={<IconUpload size={14} aria-hidden />} onClick={open}>
          Import examples
        </Button>
      )}
      title="Import examples"
      initial={{ text: '' }}
      button={({ text }) => {
        const { examples, faults } = readExamples(text)
        return {
          act: examples.length === 0 ? 'Import' : `Import ${counted(examples.length, 'example')}`,
          isDisabled: examples.length === 0 || faults.length > 0,
        }
      }}
      send={({ text }) => sendExamples(id, readExamples(text).examples, idFor)}
      onDone={() => refreshDataset(id)}
      notice={imported => `${counted(imported, 'example')} imported.`}
    >
      {({ text }, change) => <ExamplesField text={text} onChange={next => change({ text: next })} />}
    </DialogForm>
  )
}

function ExamplesField({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  const { faults } = useMemo(() => readExamples(text), [text])
  return (
    <Stack gap="xs">
      <Textarea
        label="Examples"
        description={
          <>
            One JSON object per line, or a JSON array of objects. Each object needs <Code>input</Code> and{' '}
            <Code>expected</Code>. It can also have <Code>state</Code>, <Code>metadata</Code>, and <Code>id</Code>.
          </>
        }
        placeholder={PLACEHOLDER}
        autosize
        minRows={8}
        maxRows={16}
        data-autofocus
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '12px' } }}
        spellCheck={false}
        value={text}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        error={faults.length > 0 && counted(faults.length, 'problem')}
      />
      {faults.length > 0 && <Faults faults={faults} />}
    </Stack>
  )
}

const SHOWN_FAULTS = 20

const Faults = ({ faults }: { faults: readonly ExampleFault[] }) => (
  <List size="sm" aria-label="Problems">
    {faults.slice(0, SHOWN_FAULTS).map(({ place, field, message }) => (
      <List.Item key={`${place} ${field} ${message}`}>
        {place}: {field !== '' && <Code>{field}</Code>} {message}
      </List.Item>
    ))}
    {faults.length > SHOWN_FAULTS && <Text size="sm">And {count(faults.length - SHOWN_FAULTS)} more.</Text>}
  </List>
)

/** Gives each example a stable ID, so that a second attempt doesn't import it again. */
function useExampleIds(): (example: NewExample) => string {
  const ids = useRef(new Map<string, string>())
  return ({ place, value }) => {
    const key = `${place} ${JSON.stringify(value)}`
    const id = ids.current.get(key) ?? crypto.randomUUID()
    ids.current.set(key, id)
    return id
  }
}
