import { Badge, Group, Tabs, Title } from '@mantine/core'
import type { Feedback, Span } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { duration } from '../parts/format.ts'
import { Moment } from '../parts/moment.tsx'
import { CopyCurl } from './copy-curl.tsx'
import { FeedbackSection } from './feedback-section.tsx'
import { ObservationList } from './observation-list.tsx'
import { OutputSection } from './output-section.tsx'
import { isSection, type Place, type Section } from './place.ts'
import { PromptLink } from './prompt-link.tsx'
import type { NamedTrace } from './queries.ts'
import { ReviewHistory } from './review-history.tsx'
import { kindOf } from './span-kind.ts'
import classes from './span-panel.module.css'
import { ValueSection } from './value-section.tsx'

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
  const shown = section ?? firstSection(span)
  const kind = kindOf(span)
  const marked = (value: Place['value']) => (place?.value === value ? place?.path : undefined)
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
            <CopyCurl command={curlOf(`/api/spans/${span.id}`)} label="Copy as curl" />
          </Group>
        </Group>
        <Group gap="xs" className={classes.facts}>
          {span.status === 'error' ? <span className={classes.error}>Error</span> : span.status === 'ok' && 'OK'}
          {kind && <span>{kind.label}</span>}
          {span.durationMs !== null && <span>{duration(span.durationMs)}</span>}
          <Moment at={span.createdAt} />
          {span.promptVersionId !== null && <PromptLink span={span} versionId={span.promptVersionId} />}
        </Group>
      </div>
      <Tabs
        value={shown}
        onChange={chosen => isSection(chosen) && onSection(chosen)}
        keepMounted={false}
        className={classes.tabs}
        variant="default"
      >
        <Tabs.List>
          {Object.entries(LABELS).map(([name, label]) => {
            const items = isSection(name) ? counts[name] : undefined
            return (
              <Tabs.Tab
                key={name}
                value={name}
                className={classes.tab}
                rightSection={
                  items !== undefined &&
                  items > 0 && (
                    <Badge size="xs" variant="default" circle={items < 10}>
                      {items}
                    </Badge>
                  )
                }
              >
                {label}
              </Tabs.Tab>
            )
          })}
        </Tabs.List>
        <Tabs.Panel value="output" className={classes.body}>
          <OutputSection
            key={span.id}
            span={span}
            traceId={id}
            marked={marked('output')}
            markedApproved={marked('approvedOutput')}
          />
        </Tabs.Panel>
        <Tabs.Panel value="input" className={classes.body}>
          <ValueSection key={span.id} span={span} field="input" label="Input" marked={marked('input')} />
        </Tabs.Panel>
        <Tabs.Panel value="state" className={classes.body}>
          <ValueSection key={span.id} span={span} field="state" label="State" marked={marked('state')} />
        </Tabs.Panel>
        <Tabs.Panel value="metadata" className={classes.body}>
          <ValueSection key={span.id} span={span} field="metadata" label="Metadata" marked={marked('metadata')} />
        </Tabs.Panel>
        <Tabs.Panel value="observations" className={classes.body}>
          <ObservationList key={span.id} spanId={span.id} trace={trace} />
        </Tabs.Panel>
        <Tabs.Panel value="feedback" className={classes.body}>
          <FeedbackSection key={span.id} spanId={span.id} traceId={id} feedback={feedback} />
        </Tabs.Panel>
        <Tabs.Panel value="reviews" className={classes.body}>
          <ReviewHistory key={span.id} spanId={span.id} />
        </Tabs.Panel>
      </Tabs>
    </section>
  )
}

/** The first tab to show: the output, or else the first value that the span has. */
function firstSection({ output, input, state }: Span): Section {
  if (output !== null) return 'output'
  if (input !== null) return 'input'
  return Object.keys(state).length > 0 ? 'state' : 'output'
}
