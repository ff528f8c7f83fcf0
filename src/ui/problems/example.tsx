import { Group, Skeleton, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { pathWith } from '../api/client.ts'
import type { Problem } from '../api/wire.ts'
import { diffText } from '../code/diff-text.ts'
import { JsonView } from '../json/json-view.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { spanQuery, wholeIn } from '../review/queries.ts'
import { TextDiff } from '../texts/text-diff.tsx'
import type { Example as Span } from './queries.ts'
import { Why } from './why.tsx'

interface ExampleProps {
  preview: Span
  problem: Problem
  project: string
}

/** An affected output: why it's wrong, its input, and how the approved output differs. */
export function Example({ preview, problem, project }: ExampleProps) {
  const { data: span, error, refetch } = useQuery({ ...spanQuery(preview.id), ...wholeIn(preview) })
  const { trace, createdAt } = preview
  return (
    <Stack gap="sm">
      <Text size="xs" c="dimmed">
        <Moment at={createdAt} />.{' '}
        <TextLink href={pathWith(`/traces/${trace.id}`, { project, span: preview.id })} underline="always">
          Open in its trace
        </TextLink>
      </Text>
      <Why span={preview} problem={problem} />
      {error && !span && <FaultAlert error={error} title="Couldn't load this output" onRetry={refetch} />}
      {!error && !span && <Skeleton h={320} />}
      {span && <Values span={span} project={project} />}
    </Stack>
  )
}

function Values({ span, project }: { span: Span; project: string }) {
  const { id, input, output, approvedOutput, review, trace } = span
  const isText = typeof output === 'string' && typeof approvedOutput === 'string'
  const isCorrected = review.state === 'corrected'
  return (
    <>
      <section aria-label="Input">
        <Title order={3} mb={4}>
          Input
        </Title>
        <JsonView value={input} label="the input" maxHeight="16rem" />
      </section>
      {isCorrected ? (
        <TextDiff
          label="Wrong and approved output"
          before={diffText(output)}
          after={diffText(approvedOutput)}
          language={isText ? 'text' : 'json'}
        />
      ) : (
        <section aria-label="Output">
          <Group justify="space-between" mb={4} gap="xs">
            <Title order={3}>Output</Title>
            <TextLink href={pathWith(`/traces/${trace.id}`, { project, span: id })} underline="always" fz="xs">
              Correct it
            </TextLink>
          </Group>
          <JsonView value={output} label="the output" maxHeight="24rem" />
        </section>
      )}
    </>
  )
}
