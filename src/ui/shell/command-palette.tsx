import '@mantine/spotlight/styles.css'
import { createSpotlight, Spotlight } from '@mantine/spotlight'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { IconListTree, IconSearch } from '../icons/index.ts'
import { SECTIONS } from './navigation.ts'

const [store, palette] = createSpotlight()

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Goes to a section, or to a trace by name or ID. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const [query, setQuery] = useState('')
  useEffect(palette.open, [])
  const text = query.trim()
  const found = SECTIONS.filter(({ label, description }) =>
    `${label} ${description}`.toLowerCase().includes(text.toLowerCase()),
  )
  const traceAddress = UUID.test(text) ? `/traces/${text}` : `/traces?name=${encodeURIComponent(text)}`
  return (
    <Spotlight.Root
      store={store}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={onClose}
      attributes={{ content: { 'aria-label': 'Go to' } }}
    >
      <Spotlight.Search
        aria-label="Go to"
        placeholder="Search sections, or enter a trace name or ID"
        leftSection={<IconSearch size={18} aria-hidden />}
      />
      <Spotlight.ActionsList>
        {found.map(({ path, label, description, Icon }) => (
          <Spotlight.Action
            key={path}
            label={label}
            description={description}
            leftSection={<Icon size={20} stroke={1.6} aria-hidden />}
            onClick={() => navigate(path)}
          />
        ))}
        {text !== '' && (
          <Spotlight.Action
            label={UUID.test(text) ? `Open trace ${text}` : `Traces named ${text}`}
            leftSection={<IconListTree size={20} stroke={1.6} aria-hidden />}
            onClick={() => navigate(traceAddress)}
          />
        )}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  )
}
