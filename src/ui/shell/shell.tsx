import { AppShell, Box, Burger, Group, NavLink, ScrollArea, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { type PropsWithChildren, useEffect } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { withParameters } from '../parts/parameters.ts'
import { rememberProject, useProject } from '../session/project.ts'
import { AccountMenu } from './account-menu.tsx'
import { CommandButton } from './command-button.tsx'
import { isIn, SECTIONS } from './navigation.ts'
import { ProjectSelect } from './project-select.tsx'
import classes from './shell.module.css'

/** The frame around every page: navigation, project, and account. */
export function Shell({ children }: PropsWithChildren) {
  const [isOpen, { toggle, close }] = useDisclosure()
  const [address] = useLocation()
  useProjectInUrl()
  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the menu
  useEffect(close, [address])
  return (
    <AppShell
      header={{ height: { base: 48, sm: 0 } }}
      navbar={{ width: 208, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'sm', sm: 'md' }}
    >
      <a href="#page" className={classes.skip}>
        Skip to content
      </a>
      <AppShell.Header hiddenFrom="sm" px="sm">
        <Group h="100%" gap="sm" wrap="nowrap">
          <Burger opened={isOpen} onClick={toggle} size="sm" aria-label={isOpen ? 'Close menu' : 'Open menu'} />
          <Brand />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" className={classes.navbar} component="nav" aria-label="Sections">
        <Stack gap="sm" h="100%">
          <Box visibleFrom="sm">
            <Brand />
          </Box>
          <ProjectSelect />
          <CommandButton />
          <ScrollArea flex={1}>
            {SECTIONS.map(({ path, label, Icon }) => (
              <NavLink
                key={path}
                component={Link}
                href={path}
                label={label}
                active={isIn(path, address)}
                aria-current={isIn(path, address) ? 'page' : undefined}
                leftSection={<Icon size={18} stroke={1.6} aria-hidden />}
                className={classes.link}
              />
            ))}
          </ScrollArea>
          <AccountMenu />
        </Stack>
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1} className={classes.main}>
        {children}
      </AppShell.Main>
    </AppShell>
  )
}

const Brand = () => (
  <Group gap="xs" wrap="nowrap">
    <img src="/icon.svg" alt="" width={22} height={22} />
    <Text fw={650}>Countersign</Text>
  </Group>
)

/** Keeps the project in the URL, so that shared links open in it. */
function useProjectInUrl(): void {
  const project = useProject()
  const [parameters, setParameters] = useSearchParams()
  const named = parameters.get('project')
  useEffect(() => {
    if (project !== undefined) rememberProject(project)
  }, [project])
  useEffect(() => {
    if (project === undefined || project === named) return
    setParameters(withParameters({ project }), { replace: true })
  }, [project, named, setParameters])
}
