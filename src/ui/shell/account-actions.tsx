import { Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { chooseOrganization, chosenOrganization } from '../api/organization.ts'
import { changeSession, queryClient } from '../api/query-client.ts'
import { signOut } from '../api/session.ts'
import { IconBook, IconLogout, IconMoon, IconSun, IconSwitchHorizontal } from '../icons/index.ts'

/** The account button and its menu, which starts out open: the color scheme, the API's documentation, and sign-out. */
export function AccountActions({ label }: { label: ReactNode }) {
  const scheme = useComputedColorScheme('light')
  const { setColorScheme } = useMantineColorScheme()
  const { mutate: leave } = useMutation({
    mutationFn: signOut,
    onSuccess: () => changeSession(null),
    onError: ({ message }) => notifications.show({ color: 'red', title: "Couldn't sign out", message }),
  })
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <Menu position="top-start" width={220} defaultOpened>
      <Menu.Target>
        <button type="button" className="frame-account">
          {label}
        </button>
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
