import { Group, Skeleton, Stack, Text, Title, VisuallyHidden } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import type { PromptSuggestion } from '../api/wire.ts'
import { IconRobot } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { Warning } from '../parts/warning.tsx'
import { useProject } from '../session/project.ts'
import { partsOf } from './change-parts.ts'
import type { VersionedText } from './kinds.ts'
import classes from './suggestion.module.css'
import { suggestionQuery } from './suggestion-queries.ts'
import boxes from './version-view.module.css'

interface SuggestionSectionProps {
  text: VersionedText
  versionId: string
  problemId: string
}

/** The changes in a version that a model wrote, each with the examples that it's based on. */
export function SuggestionSection({ text, versionId, problemId }: SuggestionSectionProps) {
  const { data, error, refetch } = useQuery(suggestionQuery(problemId, versionId))
  const project = useProject()
  return (
    <section aria-label="Suggested changes" className={boxes.box}>
      <Group gap={6} className={boxes.bar} wrap="nowrap">
        <IconRobot size={16} aria-hidden />
        <Title order={3}>Suggested changes</Title>
      </Group>
      {error && !data && <FaultAlert error={error} title="Couldn't load the changes" onRetry={refetch} />}
      {!error && !data && <Skeleton h={120} m="xs" />}
      {data && (
        <>
          <Text size="sm" p="xs" className={classes.reason}>
            A model, {data.model}, wrote this version for{' '}
            <TextLink href={pathWith(`/problems/${problemId}`, { project })} underline="always">
              a problem
            </TextLink>
            . Read each change. The version becomes active only if somebody activates it.
          </Text>
          <ol className={classes.changes}>
            {data.changes.map((change, index) => (
              <li key={change.start} className={classes.change}>
                <SuggestedChange
                  suggestion={data}
                  change={change}
                  number={index + 1}
                  base={text.versions.find(({ id }) => id === data.baseVersionId)?.content ?? change.before}
                />
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

interface SuggestedChangeProps {
  suggestion: PromptSuggestion
  change: PromptSuggestion['changes'][number]
  number: number
  base: string
}

function SuggestedChange({ suggestion, change, number, base }: SuggestedChangeProps) {
  const { lead, removed, added, tail } = partsOf(base, change)
  return (
    <Stack gap={6} component="section" aria-label={`Change ${number}`}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre className={classes.lines} dir="auto" tabIndex={0}>
        <ShownText text={lead} />
        {removed !== '' && (
          <del className={classes.removed}>
            <VisuallyHidden>Removed: </VisuallyHidden>
            <ShownText text={removed} />
          </del>
        )}
        {added !== '' && (
          <ins className={classes.added}>
            <VisuallyHidden>Added: </VisuallyHidden>
            <ShownText text={added} />
          </ins>
        )}
        <ShownText text={tail} />
      </pre>
      {change.isCopied && (
        <Warning title="Copied from a trace">
          This change copies words from an example's input, state, or output that don't appear in anything that a person
          wrote. A trace can contain instructions meant for a model, so check whether you really want this rule.
          <ExampleLinks label="Copied from" spanIds={change.copiedFrom} suggestion={suggestion} />
        </Warning>
      )}
      {change.reason === null ? (
        <Text size="sm" c="dimmed">
          The reason was deleted along with an example that it may have quoted.
        </Text>
      ) : (
        <Text size="sm" dir="auto" className={classes.reason}>
          <ShownText text={change.reason} />
        </Text>
      )}
      <ExampleLinks label="Based on" spanIds={change.examples} suggestion={suggestion} />
    </Stack>
  )
}

interface ExampleLinksProps {
  label: string
  spanIds: readonly string[]
  suggestion: PromptSuggestion
}

/** Links to corrected outputs. An output has the same number in every change. */
function ExampleLinks({ label, spanIds, suggestion: { examples } }: ExampleLinksProps) {
  const project = useProject()
  const shown = examples.flatMap(({ spanId, traceId }, index) =>
    spanIds.includes(spanId) ? [{ spanId, traceId, number: index + 1 }] : [],
  )
  return (
    <Text size="sm" component="div">
      {label}{' '}
      {shown.length === 0
        ? 'an example that was deleted'
        : shown.map(({ spanId, traceId, number }, index) => (
            <span key={spanId}>
              {index > 0 && ', '}
              <TextLink href={pathWith(`/traces/${traceId}`, { project, span: spanId })} underline="always">
                example {number}
              </TextLink>
            </span>
          ))}
    </Text>
  )
}
