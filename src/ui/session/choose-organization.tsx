import { Anchor, Button, Card, Center, Group, Loader, Stack, Text, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { call } from '../api/client.ts'
import { chooseOrganization } from '../api/organization.ts'
import { queryClient } from '../api/query-client.ts'
import type { OwnOrganizations } from '../api/wire.ts'
import { IconChevronRight } from '../icons/index.ts'
import { ShownText } from '../json/shown-text.tsx'
import { FaultAlert } from '../parts/fault-alert.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'

/** Asks a user in several organizations which one to open. */
export function ChooseOrganization() {
  usePageTitle('Choose an organization')
  const { data, error, refetch } = useQuery({
    queryKey: ['own-organizations'],
    queryFn: ({ signal }) => call<OwnOrganizations>('/api/session/organizations', { signal }),
  })
  const choose = (slug: string) => {
    chooseOrganization(slug)
    queryClient.resetQueries()
  }
  return (
    <Center mih="100dvh" p="md" component="main">
      <Card withBorder w="100%" maw={420} p="xl">
        <Stack>
          <Group gap="xs" wrap="nowrap">
            <img src="/icon.svg" alt="" width={28} height={28} />
            <Title order={1}>Choose an organization</Title>
          </Group>
          <Text size="sm" c="dimmed">
            You belong to more than one organization. This browser remembers your choice. You can switch later in the
            account menu.
          </Text>
          {error && <FaultAlert error={error} onRetry={refetch} />}
          {!data && !error && <Loader aria-label="Loading" />}
          <Stack gap="xs">
            {data?.organizations.map(({ slug, name }) => (
              <Button
                key={slug}
                variant="default"
                justify="space-between"
                h="auto"
                py="xs"
                rightSection={<IconChevronRight size={16} aria-hidden />}
                onClick={() => choose(slug)}
              >
                <Stack gap={0} align="flex-start">
                  <ShownText text={name} />
                  <Text size="xs" c="dimmed" fw={400}>
                    {slug}
                  </Text>
                </Stack>
              </Button>
            ))}
          </Stack>
          <Anchor component={Link} href="/sign-in" size="sm" underline="always">
            Sign in with an API key instead
          </Anchor>
        </Stack>
      </Card>
    </Center>
  )
}
