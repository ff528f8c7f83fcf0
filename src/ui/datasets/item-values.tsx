import { Stack, Title } from '@mantine/core'
import type { PropsWithChildren } from 'react'
import type { DatasetItem, Json } from '../api/wire.ts'
import { JsonView } from '../json/json-view.tsx'
import { ApprovedOutput } from '../trace/approved-output.tsx'

/** An item's values at the time of the decision. */
export function ItemValues({ item: { input, state, output, expected, metadata, decision } }: { item: DatasetItem }) {
  const [approved = null, ...alternatives] = expected
  return (
    <Stack gap="md">
      {decision === 'correct' ? (
        <ApprovedOutput output={output} approvedOutput={approved} />
      ) : (
        <Value title="Expected output" value={approved} />
      )}
      {alternatives.map((alternative, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: alternatives have no other identity
        <Value key={index} title={`Also accepted (${index + 1})`} value={alternative} />
      ))}
      <Value title="Input" value={input} />
      {Object.keys(state).length > 0 && <Value title="State" value={state} />}
      {decision === 'correct' && <Value title="Recorded output" value={output} />}
      {!isEmptyObject(metadata) && <Value title="Metadata" value={metadata} />}
    </Stack>
  )
}

const isEmptyObject = (value: Json): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const Value = ({ title, value }: { title: string; value: Json }) => (
  <Section title={title}>
    <JsonView value={value} label={title.toLowerCase()} maxHeight="40vh" />
  </Section>
)

const Section = ({ title, children }: PropsWithChildren<{ title: string }>) => (
  <Stack gap={6} component="section" aria-label={title}>
    <Title order={3}>{title}</Title>
    {children}
  </Stack>
)
