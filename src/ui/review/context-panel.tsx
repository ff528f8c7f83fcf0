import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { lazy, type ReactNode, Suspense } from 'react'
import type { Json, SpanOfTrace } from '../api/wire.ts'
import { Assignees } from '../assignments/assignees.tsx'
import { IconAlertTriangle } from '../icons/index.ts'
import { JsonView } from '../json/json-view.tsx'
import { ShownText } from '../json/shown-text.tsx'
import { duration } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useDesk } from './use-desk.ts'

const Sources = lazy(async () => ({ default: (await import('./sources.tsx')).Sources }))

interface ContextPanelProps {
  span: SpanOfTrace
  /** Whether the values are whole rather than previews. */
  isWhole: boolean
}

/** Where an output comes from: its step and trace, input, sources, state, and metadata. */
export function ContextPanel({ span, isWhole }: ContextPanelProps) {
  const { actorId } = useDesk()
  const { trace, stepId, status, durationMs, createdAt, input, state, metadata } = span
  return (
    <Stack gap="sm">
      <div>
        <Title order={2} lineClamp={2} dir="auto">
          <ShownText text={stepId} />
        </Title>
        <Text size="sm" truncate title={trace.name}>
          in{' '}
          <TextLink href={`/traces/${trace.id}?span=${span.id}`}>
            <ShownText text={trace.name} />
          </TextLink>
        </Text>
        <Group gap="xs" c="dimmed" fz="xs">
          <Moment at={createdAt} />
          {durationMs !== null && <span>took {duration(durationMs)}</span>}
          {status === 'error' && (
            <Group gap={4} c="var(--negative)">
              <IconAlertTriangle size={13} aria-hidden /> failed
            </Group>
          )}
          <Assignees assignees={span.assignees} actorId={actorId} />
        </Group>
      </div>
      <Section title="Input">
        <Shown value={input} label="the input" isWhole={isWhole} maxHeight="50vh" />
      </Section>
      <Suspense fallback={<Skeleton h="6rem" />}>
        <Sources span={span}>
          {Object.keys(state).length > 0 && (
            <Section title="State">
              <Shown value={state} label="the state" isWhole={isWhole} maxHeight="40vh" />
            </Section>
          )}
          {hasFields(metadata) && (
            <Section title="Metadata">
              <Shown value={metadata} label="the metadata" isWhole={isWhole} maxHeight="30vh" />
            </Section>
          )}
        </Sources>
      </Suspense>
    </Stack>
  )
}

const Section = ({ title, children }: { title: string; children: ReactNode }) => (
  <section aria-label={title}>
    <Title order={3} mb={4}>
      {title}
    </Title>
    {children}
  </section>
)

/** A value, once it is loaded in full. */
const Shown = ({
  value,
  label,
  isWhole,
  maxHeight,
}: {
  value: Json
  label: string
  isWhole: boolean
  maxHeight: string
}) => (isWhole ? <JsonView value={value} label={label} maxHeight={maxHeight} /> : <Skeleton h="10rem" />)

const hasFields = (value: Json): boolean => typeof value === 'object' && value !== null && Object.keys(value).length > 0
