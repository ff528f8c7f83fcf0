import { Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Users } from '../api/wire.ts'
import { ShownText } from '../json/shown-text.tsx'
import { CopyIcon } from '../parts/copied-code.tsx'
import { curlOf } from '../parts/curl.ts'
import { Empty } from '../parts/empty.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { Moment } from '../parts/moment.tsx'
import { ShowMore } from '../parts/show-more.tsx'
import { type Column, StackedTable } from '../parts/stacked-table.tsx'
import { OneProjectOnly, useOnlyProject } from './limits-of-key.tsx'
import { NewUser } from './new-user.tsx'
import { usersQuery } from './queries.ts'
import { TabBar } from './tab-bar.tsx'

/** The organization's people. */
export function UsersTab() {
  const query = useInfiniteQuery(usersQuery)
  const onlyProject = useOnlyProject()
  const users = query.data?.pages.flatMap(page => page.users)
  return (
    <Stack gap="sm">
      <TabBar about="People whose decisions are told apart. A user reviews with an API key that acts for them; whoever is named in ingested feedback by e-mail is added too.">
        {onlyProject === null && <NewUser />}
      </TabBar>
      <OneProjectOnly>Users are added with a key for the whole organization.</OneProjectOnly>
      {query.error && !query.data ? (
        <FaultAlert error={query.error} onRetry={query.refetch} />
      ) : users?.length === 0 ? (
        <Empty
          title="No user yet"
          curl={curlOf('/api/users', { method: 'POST', body: { email: 'ada@example.com', name: 'Ada' } })}
        >
          Add the first reviewer, then make an API key that acts for them:
        </Empty>
      ) : (
        <StackedTable label="Users" columns={COLUMNS} rows={users} keyOf={({ id }) => id} />
      )}
      <ShowMore query={query} />
    </Stack>
  )
}

const COLUMNS: Column<Users['users'][number]>[] = [
  {
    label: 'Name',
    cell: ({ name }) => (
      <Text size="sm" fw={600} dir="auto">
        {name === '' ? '–' : <ShownText text={name} />}
      </Text>
    ),
  },
  { label: 'E-mail', cell: ({ email }) => <ShownText text={email} /> },
  { label: 'Added', cell: ({ createdAt }) => <Moment at={createdAt} />, isNarrow: true },
  { label: 'Id', cell: ({ id, email }) => <CopyIcon text={id} label={`Copy the id of ${email}`} />, isActions: true },
]
