import { Code, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { useSearchParams } from 'wouter'
import { errorTypesQuery } from '../api/error-types.ts'
import { sessionQuery, useIsAdjudicator } from '../api/session.ts'
import { Empty } from '../parts/empty.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { useProject } from '../session/project.ts'
import { deskOf } from './desk.ts'
import { filterFrom, type QueueKind, TITLES } from './filters.ts'
import { Blank, Inbox } from './inbox.tsx'
import { promptsQuery, queueQuery } from './queries.ts'
import { DeskProvider } from './use-desk.ts'

/** A queue's page. */
export function QueuePage({ kind }: { kind: QueueKind }) {
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const [parameters] = useSearchParams()
  // Requested together with the session.
  const isAdjudicator = useIsAdjudicator()
  const mayAsk = kind === 'review' || isAdjudicator
  useInfiniteQuery({ ...queueQuery(projectSlug, kind, filterFrom(parameters)), ...(!mayAsk && { enabled: false }) })
  useQuery(promptsQuery(projectSlug))
  useQuery(errorTypesQuery(projectSlug))
  if (!session) {
    return (
      <Framed kind={kind}>
        <Blank />
      </Framed>
    )
  }
  const missing = (['review', 'read'] as const).filter(scope => !session.scopes.includes(scope))
  if (missing.length > 0) {
    return (
      <Framed kind={kind}>
        <NoReviewer missing={missing} />
      </Framed>
    )
  }
  if (!mayAsk) {
    return (
      <Framed kind={kind}>
        <NoAdjudicator />
      </Framed>
    )
  }
  if (projectSlug === undefined) {
    return (
      <Framed kind={kind}>
        <NoProject />
      </Framed>
    )
  }
  return (
    <DeskProvider value={deskOf(session.actorId)}>
      <Inbox key={`${kind} ${projectSlug}`} projectSlug={projectSlug} kind={kind} />
    </DeskProvider>
  )
}

const Framed = ({ kind, children }: PropsWithChildren<{ kind: QueueKind }>) => (
  <>
    <Title order={1} mb="sm">
      {TITLES[kind]}
    </Title>
    {children}
  </>
)

const NoAdjudicator = () => (
  <Empty title="You aren't an adjudicator">
    <Text size="sm" inherit>
      Adjudicators settle disagreements between reviewers. A manager in your organization can make you an adjudicator
      under{' '}
      <TextLink href="/settings/users" underline="always">
        Settings
      </TextLink>
      .
    </Text>
  </Empty>
)

const NoReviewer = ({ missing }: { missing: readonly string[] }) => (
  <Empty title="You can't review with this key">
    <Text size="sm" inherit>
      To review outputs, you need the <Code>review</Code> and <Code>read</Code> scopes. Your key is missing{' '}
      {missing.map((scope, index) => (
        <span key={scope}>
          {index > 0 && ' and '}
          <Code>{scope}</Code>
        </span>
      ))}
      . Ask a manager in your organization to create a key under Settings. You can see past decisions in the{' '}
      <TextLink href="/traces">traces</TextLink>.
    </Text>
  </Empty>
)
