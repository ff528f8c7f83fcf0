import { Anchor, Code, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { Link, useSearchParams } from 'wouter'
import { errorTypesQuery } from '../api/error-types.ts'
import { sessionQuery } from '../api/session.ts'
import { Empty } from '../parts/empty.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { deskOf } from './desk.ts'
import { filterFrom } from './filters.ts'
import { Blank, Inbox } from './inbox.tsx'
import { promptsQuery, queueQuery } from './queries.ts'
import { DeskProvider } from './use-desk.ts'

/** Where outputs are decided on. */
export const Page = () => {
  usePageTitle('Review')
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const [parameters] = useSearchParams()
  // Asked for at once with the session.
  useInfiniteQuery(queueQuery(projectSlug, filterFrom(parameters)))
  useQuery(promptsQuery(projectSlug))
  useQuery(errorTypesQuery(projectSlug))
  if (!session) {
    return (
      <Framed>
        <Blank />
      </Framed>
    )
  }
  const missing = (['review', 'read'] as const).filter(scope => !session.scopes.includes(scope))
  if (missing.length > 0) {
    return (
      <Framed>
        <NoReviewer missing={missing} />
      </Framed>
    )
  }
  if (projectSlug === undefined) {
    return (
      <Framed>
        <NoProject />
      </Framed>
    )
  }
  return (
    <DeskProvider value={deskOf(session.actorId)}>
      <Inbox key={projectSlug} projectSlug={projectSlug} />
    </DeskProvider>
  )
}

const Framed = ({ children }: PropsWithChildren) => (
  <>
    <Title order={1} mb="sm">
      Review
    </Title>
    {children}
  </>
)

const NoReviewer = ({ missing }: { missing: readonly string[] }) => (
  <Empty title="You cannot review with this key">
    <Text size="sm" inherit>
      Deciding on outputs needs the scopes <Code>review</Code> and <Code>read</Code>; yours has no{' '}
      {missing.map((scope, index) => (
        <span key={scope}>
          {index > 0 && ' and no '}
          <Code>{scope}</Code>
        </span>
      ))}
      . Whoever manages your organization makes such a key under Settings. What was decided shows with the{' '}
      <Anchor component={Link} href="/traces" inherit>
        traces
      </Anchor>
      .
    </Text>
  </Empty>
)
