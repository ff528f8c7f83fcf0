import { Code, Text, Title } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import type { PropsWithChildren } from 'react'
import { useSearchParams } from 'wouter'
import { errorTypesQuery } from '../api/error-types.ts'
import { sessionQuery } from '../api/session.ts'
import { Empty } from '../parts/empty.tsx'
import { NoProject } from '../parts/no-project.tsx'
import { TextLink } from '../parts/text-link.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { useProject } from '../session/project.ts'
import { deskOf } from './desk.ts'
import { filterFrom } from './filters.ts'
import { Blank, Inbox } from './inbox.tsx'
import { promptsQuery, queueQuery } from './queries.ts'
import { DeskProvider } from './use-desk.ts'

/** The review page. */
export const Page = () => {
  usePageTitle('Review')
  const projectSlug = useProject()
  const { data: session } = useQuery(sessionQuery)
  const [parameters] = useSearchParams()
  // Requested together with the session.
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
  <Empty title="You can't review with this key">
    <Text size="sm" inherit>
      To review outputs, you need the <Code>review</Code> and <Code>read</Code> scopes. Your key is missing{' '}
      {missing.map((scope, index) => (
        <span key={scope}>
          {index > 0 && ' and '}
          <Code>{scope}</Code>
        </span>
      ))}
      . Ask a manager of your organization to create a key under Settings. You can see past decisions in the{' '}
      <TextLink href="/traces">traces</TextLink>.
    </Text>
  </Empty>
)
