import { ScrollArea, Stack, Tabs, Title } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useLocation, useParams, useSearchParams } from 'wouter'
import { pathWith } from '../api/client.ts'
import { sessionQuery } from '../api/session.ts'
import { MissingScope } from '../parts/scopes.tsx'
import { usePageTitle } from '../parts/use-page-title.ts'
import { AuditLogTab } from './audit-log-tab.tsx'
import { ErrorTypesTab } from './error-types-tab.tsx'
import { KeysTab } from './keys-tab.tsx'
import { ProjectsTab } from './projects-tab.tsx'
import { ReviewPolicyTab } from './review-policy-tab.tsx'
import { StepNamesTab } from './step-names-tab.tsx'
import { UsersTab } from './users-tab.tsx'
import { WebhooksTab } from './webhooks-tab.tsx'

const TABS = [
  { path: 'projects', label: 'Projects', scope: 'manage', Content: ProjectsTab },
  { path: 'keys', label: 'API keys', scope: 'manage', Content: KeysTab },
  { path: 'users', label: 'Users', scope: 'manage', Content: UsersTab },
  { path: 'error-types', label: 'Error types', scope: 'read', Content: ErrorTypesTab },
  { path: 'step-names', label: 'Steps', scope: 'read', Content: StepNamesTab },
  { path: 'review-policy', label: 'Review policy', scope: 'read', Content: ReviewPolicyTab },
  { path: 'webhooks', label: 'Webhooks', scope: 'manage', Content: WebhooksTab },
  { path: 'audit-log', label: 'Audit log', scope: 'manage', Content: AuditLogTab },
] as const

/** The settings: projects, keys, users, error types, steps, the review policy, webhooks, and the audit log. */
export function Page() {
  usePageTitle('Settings')
  const { tab } = useParams<{ tab?: string }>()
  const [, navigate] = useLocation()
  const [parameters] = useSearchParams()
  const { data: session } = useQuery(sessionQuery)
  const chosen = TABS.find(({ path }) => path === tab) ?? TABS[0]
  const choose = (path: string | null) => {
    const project = parameters.get('project')
    navigate(pathWith(`/settings/${path}`, { project }))
  }
  return (
    <Stack gap="sm" maw={1200}>
      <Title order={1}>Settings</Title>
      <Tabs value={chosen.path} onChange={choose} keepMounted={false}>
        <ScrollArea type="never" mb="md">
          <Tabs.List style={{ flexWrap: 'nowrap' }}>
            {TABS.map(({ path, label }) => (
              <Tabs.Tab key={path} value={path} px={{ base: 7, sm: 'sm' }}>
                {label}
              </Tabs.Tab>
            ))}
          </Tabs.List>
        </ScrollArea>
        {TABS.map(({ path, scope, Content }) => (
          <Tabs.Panel key={path} value={path}>
            {session && !session.scopes.includes(scope) ? (
              <MissingScope scope={scope}>You don't have access to this page</MissingScope>
            ) : (
              <Content />
            )}
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  )
}
