import { Badge, Group, Skeleton, Tabs, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { sessionQuery } from '../api/session.ts'
import type { Feedback, Span } from '../api/wire.ts'
import { Assignees } from '../assignments/assignees.tsx'
import { IconTerminal2 } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { duration } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { ModelUse } from './model-use.tsx'
import { OutputSection } from './output-section.tsx'
import { isSection, type Place, SECTIONS, type Section } from './place.ts'
import { PromptLink } from './prompt-link.tsx'
import type { NamedTrace } from './queries.ts'
import { kindOf } from './span-kind.ts'
import classes from './span-panel.module.css'
import { ValueSection } from './value-section.tsx'

const FeedbackSection = lazy(async () => ({ default: (await import('./feedback-section.tsx')).FeedbackSection }))
const ObservationList = lazy(async () => ({ default: (await import('./observation-list.tsx')).ObservationList }))
const ReviewHistory = lazy(async () => ({ default: (await import('./review-history.tsx')).ReviewHistory }))

interface SpanPanelProps {
  span: Span
  feedback: readonly Feedback[]
  /** The trace's ID. */
  id: string
  trace: NamedTrace
  section: Section | null
  place: Place | undefined
  onSection: (section: Section) => void
}

const LABELS: Record<Section, string> = {
  output: 'Output',
  input: 'Input',
  state: 'State',
  metadata: 'Metadata',
  observations: 'Observations',
  feedback: 'Feedback',
  reviews: 'Reviews',
}

/** Everything about a span. Each tab loads what it needs when it opens. */
export function SpanPanel({ span, feedback, id, trace, section, place, onSection }: SpanPanelProps) {
  const { data: session } = useQuery(sessionQuery)
  const shown = section ?? firstSection(span)
  const kind = kindOf(span)
  const counts: Partial<Record<Section, number>> = {
    state: Object.keys(span.state).length,
    feedback: feedback.length,
  }
  return (
    <section className={classes.panel} aria-label="Selected span">
      <div className={classes.head}>
        <Group justify="space-between" wrap="nowrap" align="start" gap="xs">
          <Title order={2} className={classes.title} dir="auto">
            <ShownText text={span.stepId} />
          </Title>
          <Group gap={0} wrap="nowrap">
            <CopyIcon text={span.id} label="Copy span ID" />
            <CopyIcon text={curlOf(`/api/spans/${span.id}`)} label="Copy as curl" Icon={IconTerminal2} />
          </Group>
        </Group>
        <Group gap="xs" className={classes.facts}>
          {span.status === 'error' ? <span className={classes.error}>Error</span> : span.status === 'ok' && 'OK'}
          {kind && <span>{kind.label}</span>}
          {span.durationMs !== null && <span>{duration(span.durationMs)}</span>}
          <ModelUse model={span.model} provider={span.provider} usage={span.usage} costUsd={span.costUsd} />
          <Moment at={span.createdAt} precision="exact" />
          {span.promptVersionId !== null && <PromptLink span={span} versionId={span.promptVersionId} />}
          <Assignees assignees={span.assignees} actorId={session?.actorId} />
        </Group>
      </div>
      <Tabs
        value={shown}
        onChange={chosen => isSection(chosen) && onSection(chosen)}
        keepMounted={false}
        className={classes.tabs}
        variant="default"
      >
        <Tabs.List className={classes.list}>
          {SECTIONS.map(name => (
            <Tabs.Tab key={name} value={name} className={classes.tab} rightSection={countOf(counts[name])}>
              {LABELS[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {SECTIONS.map(name => (
          <Tabs.Panel key={name} value={name} className={classes.body}>
            <Suspense fallback={<Skeleton h="8rem" />}>
              <Body key={span.id} name={name} span={span} feedback={feedback} id={id} trace={trace} place={place} />
            </Suspense>
          </Tabs.Panel>
        ))}
      </Tabs>
    </section>
  )
}

const countOf = (items = 0) =>
  items > 0 && (
    <Badge size="xs" variant="default" circle={items < 10}>
      {items}
    </Badge>
  )

type BodyProps = Omit<SpanPanelProps, 'section' | 'onSection'> & { name: Section }

function Body({ name, span, feedback, id, trace, place }: BodyProps) {
  const marked = (value: Place['value']) => (place?.value === value ? place?.path : undefined)
  switch (name) {
    case 'output':
      return (
        <OutputSection span={span} traceId={id} marked={marked('output')} markedApproved={marked('approvedOutput')} />
      )
    case 'observations':
      return <ObservationList spanId={span.id} trace={trace} />
    case 'feedback':
      return <FeedbackSection spanId={span.id} traceId={id} feedback={feedback} />
    case 'reviews':
      return <ReviewHistory spanId={span.review.reviewedBy ?? span.id} />
    default:
      return <ValueSection span={span} field={name} label={LABELS[name]} marked={marked(name)} />
  }
}

/** The first tab to show: the output, or else the first value that the span has. */
function firstSection({ output, input, state }: Span): Section {
  if (output !== null) return 'output'
  if (input !== null) return 'input'
  return Object.keys(state).length > 0 ? 'state' : 'output'
}
