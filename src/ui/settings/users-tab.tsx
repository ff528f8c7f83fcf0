import { Group, Stack, Text } from '@mantine/core'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { sessionQuery } from '../api/session.ts'
import type { Users } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { AdjudicatorSwitch } from './adjudicator-switch.tsx'
import { OneProjectOnly, useOnlyProject } from './limits-of-key.tsx'
import { usersQuery } from './queries.ts'
import { TabBar } from './tab-bar.tsx'
import { DeleteUser, EditUser, NewUser } from './user-dialogs.tsx'

/** The organization's users. */
export function UsersTab() {
  const query = useInfiniteQuery(usersQuery)
  const onlyProject = useOnlyProject()
  const { data: session } = useQuery(sessionQuery)
  const mayChange = onlyProject === null
  const columns = columnsFor({ ownId: session?.user?.id, mayChange, isPerson: session?.actsAs === 'person' })
  const users = query.data?.pages.flatMap(page => page.users)
  return (
    <Stack gap="sm">
      <TabBar about="Everyone who reviews or has given feedback. Reviewers use an API key that acts for them. Someone known only from feedback can't sign in through Cloudflare Access until you add them here with the same email. Adjudicators settle disagreements between reviewers: they see every review, and their decisions are final right away instead of counting as votes.">
        {mayChange && <NewUser />}
      </TabBar>
      <OneProjectOnly>
        Only people who have a key for this project are listed. To add or change users, sign in with a key for the whole
        organization.
      </OneProjectOnly>
      {query.error && !query.data ? (
        <FaultAlert error={query.error} onRetry={query.refetch} />
      ) : users?.length === 0 ? (
        <Empty
          title="No users yet"
          curl={curlOf('/api/users', { method: 'POST', body: { email: 'ada@example.com', name: 'Ada' } })}
        >
          Add the first reviewer, then create an API key that acts for them:
        </Empty>
      ) : (
        <StackedTable label="Users" columns={columns} rows={users} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

interface ColumnOptions {
  /** The signed-in user's ID, if there is one. */
  ownId: string | undefined
  mayChange: boolean
  /** Only a person may appoint adjudicators. */
  isPerson: boolean
}

const columnsFor = ({ ownId, mayChange, isPerson }: ColumnOptions): Column<Users['users'][number]>[] => [
  {
    label: 'Name',
    cell: ({ name }) => (
      <Text size="sm" fw={600} dir="auto">
        {name === '' ? '–' : <ShownText text={name} />}
      </Text>
    ),
  },
  { label: 'Email', cell: ({ email }) => <ShownText text={email} /> },
  {
    label: 'Added by',
    cell: ({ isConfirmed }) => (isConfirmed ? 'A manager' : 'Feedback'),
    isNarrow: true,
  },
  {
    label: 'Adjudicator',
    cell: user => <AdjudicatorSwitch user={user} mayChange={mayChange && isPerson} />,
    isNarrow: true,
  },
  { label: 'Added', cell: ({ createdAt }) => <Moment at={createdAt} />, isNarrow: true },
  {
    label: 'Actions',
    cell: user => (
      <Group gap={4} wrap="nowrap" justify="flex-end">
        <CopyIcon text={user.id} label={`Copy ID of ${user.email}`} />
        {mayChange && <EditUser user={user} />}
        {mayChange && <DeleteUser user={user} isOwn={user.id === ownId} />}
      </Group>
    ),
    isActions: true,
  },
]
