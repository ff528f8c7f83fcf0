import { Group } from '@mantine/core'
import { pathWith } from '../api/client.ts'
import { TextLink } from '../parts/text-link.tsx'

const LISTS = [
  { name: 'traces', label: 'Traces', path: '/traces' },
  { name: 'conversations', label: 'Conversations', path: '/traces/conversations' },
  { name: 'spans', label: 'Spans', path: '/spans' },
] as const

interface ListSwitchProps {
  shown: (typeof LISTS)[number]['name']
  project: string | undefined
}

/** Links between the lists of traces, of conversations, and of spans. */
export const ListSwitch = ({ shown, project }: ListSwitchProps) => (
  <Group gap="sm" component="nav" aria-label="Lists" fz="sm">
    {LISTS.map(({ name, label, path }) =>
      name === shown ? (
        <span key={name} aria-current="page">
          {label}
        </span>
      ) : (
        <TextLink key={name} href={pathWith(path, { project })}>
          {label}
        </TextLink>
      ),
    )}
  </Group>
)
