import { Menu, Text, UnstyledButton, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery } from '@tanstack/react-query'
import { chooseOrganization, chosenOrganization } from '../api/organization.ts'
import { changeSession, queryClient } from '../api/query-client.ts'
import { nameOf, sessionQuery, signOut } from '../api/session.ts'
import { IconBook, IconLogout, IconMoon, IconSun, IconSwitchHorizontal, IconUserCircle } from '../icons/index.ts'
import classes from './account-menu.module.css'

/** The signed-in user, the color scheme, and sign-out. */
export function AccountMenu() {
  const { data: session } = useQuery(sessionQuery)
  const scheme = useComputedColorScheme('light')
  const { setColorScheme } = useMantineColorScheme()
  const { mutate: leave } = useMutation({
    mutationFn: signOut,
    onSuccess: () => changeSession(null),
    onError: ({ message }) => notifications.show({ color: 'red', title: "Couldn't sign out", message }),
  })
  const other = scheme === 'dark' ? 'light' : 'dark'
  const name = session ? nameOf(session) : 'Account'
  return (
    <Menu position="top-start" width={220}>
      <Menu.Target>
        <UnstyledButton className={classes.account}>
          <IconUserCircle size={20} stroke={1.6} aria-hidden />
          <span className={classes.names}>
            <Text size="sm" truncate>
              {name}
            </Text>
            <Text size="xs" c="dimmed" truncate>
              {session?.organization.name ?? ' '}
            </Text>
          </span>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={other === 'dark' ? <IconMoon size={16} aria-hidden /> : <IconSun size={16} aria-hidden />}
          onClick={() => setColorScheme(other)}
        >
          {other === 'dark' ? 'Dark' : 'Light'} mode
        </Menu.Item>
        <Menu.Item leftSection={<IconBook size={16} aria-hidden />} component="a" href="/docs">
          API documentation
        </Menu.Item>
        {chosenOrganization() !== null && (
          <Menu.Item leftSection={<IconSwitchHorizontal size={16} aria-hidden />} onClick={switchOrganization}>
            Switch organization
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => leave()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function switchOrganization(): void {
  chooseOrganization(null)
  queryClient.resetQueries()
}
