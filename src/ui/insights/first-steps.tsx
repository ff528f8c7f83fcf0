import { Code, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { pathWith } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import type { TraceList } from '../api/wire.ts'
import { IconCircleCheck, IconCircleDashed } from '../icons/index.ts'
import { CopiedCode } from '../parts/copied-code.tsx'
import { useFirstTrace } from '../parts/first-trace.ts'
import { TextLink } from '../parts/text-link.tsx'
import classes from './insights.module.css'
import { watchedKeysQuery } from './queries.ts'

interface FirstStepsProps {
  project: string
  newest: TraceList
}

/** A checklist for a new project. */
export function FirstSteps({ project, newest }: FirstStepsProps) {
  const { data: session } = useQuery(sessionQuery)
  const mayManage = session?.scopes.includes('manage') ?? false
  const { data: keys } = useQuery(watchedKeysQuery(mayManage))
  const firstTrace = useFirstTrace(project)
  const ownKeyIngests = session?.key !== null && (session?.scopes.includes('ingest') ?? false)
  const projectId = session?.projects.find(({ slug }) => slug === project)?.id
  const hasTrace = newest.traces.length > 0
  const hasKey =
    hasTrace ||
    ownKeyIngests ||
    (keys?.apiKeys ?? []).some(
      ({ scopes, projectId: ofProject, revokedAt }) =>
        revokedAt === null && scopes.includes('ingest') && (ofProject === null || ofProject === projectId),
    )
  return (
    <Stack component="section" aria-label="First steps" maw={760} py="md">
      <div>
        <Title order={2}>Get started</Title>
        <Text size="sm" c="dimmed">
          After these three steps, this page shows what to fix next.
        </Text>
      </div>
      <ol className={classes.checklist}>
        <Task title="Create a key for your pipeline" isDone={hasKey}>
          {mayManage || session === undefined ? (
            <>
              Create one under{' '}
              <TextLink href={pathWith('/settings/keys', { project })} underline="always">
                Settings
              </TextLink>
              , with the <Code>ingest</Code> scope. Store it in <Code>COUNTERSIGN_KEY</Code>.
            </>
          ) : (
            <>
              Ask a manager in your organization to create one under Settings, with the <Code>ingest</Code> scope.
            </>
          )}
        </Task>
        <Task title="Send a trace" isDone={hasTrace}>
          This command sends a pipeline run with an input and an output:
          <CopiedCode text={firstTrace} label="Copy command" />
        </Task>
        <Task title="Review its output" isDone={newest.traces.some(({ reviewedCount }) => reviewedCount > 0)}>
          {hasTrace ? (
            <TextLink href={pathWith('/review', { project })} underline="always">
              Review it in the queue
            </TextLink>
          ) : (
            'Accept or correct it in the queue.'
          )}
        </Task>
      </ol>
    </Stack>
  )
}

function Task({ title, isDone, children }: PropsWithChildren<{ title: string; isDone: boolean }>) {
  return (
    <li className={classes.task}>
      {isDone ? (
        <IconCircleCheck size={20} className={classes.done} aria-label="Done" />
      ) : (
        <IconCircleDashed size={20} className={classes.open} aria-label="To do" />
      )}
      <Stack gap={6}>
        <Title order={3}>{title}</Title>
        <Text size="sm" component="div">
          {children}
        </Text>
      </Stack>
    </li>
  )
}
