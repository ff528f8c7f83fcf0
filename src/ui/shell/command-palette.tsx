import '@mantine/spotlight/styles.css'
import { Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { createSpotlight, Spotlight } from '@mantine/spotlight'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { pathWith } from '../api/client.ts'
import type { TraceItem, TraceList } from '../api/wire.ts'
import { conversationAddress, DEFAULT_KEY } from '../conversations/address.ts'
import { matchedField } from '../filters/matches.tsx'
import { IconListTree, IconMessage, IconSearch } from '../icons/index.ts'
import { Moment } from '../parts/moment.tsx'
import { useMay } from '../parts/scopes.tsx'
import { useProject } from '../session/project.ts'
import type { Section } from './navigation.ts'
import classes from './palette-item.module.css'
import { PaletteGroup, PaletteItem } from './palette-item.tsx'
import { isIn, usePaletteLists } from './palette-lists.ts'
import {
  conversationQuery,
  isSearchable,
  namedTracesQuery,
  textTracesQuery,
  traceByIdQuery,
} from './palette-queries.ts'
import { useSections } from './use-sections.ts'

const [store, palette] = createSpotlight()

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Requests wait until the reader hasn't typed for this long. */
const TYPING_MS = 250

const CONVERSATIONS = {
  path: '/traces/conversations',
  label: 'Conversations',
  description: 'Turns with the same group_id',
  Icon: IconMessage,
}

/** Finds sections, traces, conversations, and anything else with a name. */
export function CommandPalette({ onClose }: { onClose: () => void }) {
  const [, navigate] = useLocation()
  const chosen = useProject()
  const project = useMay('read') === false ? undefined : chosen
  const [query, setQuery] = useState('')
  /** The text that the reader is searching for in the traces' values. */
  const [searched, setSearched] = useState<string>()
  useEffect(palette.open, [])
  const text = query.trim()
  const [typed] = useDebouncedValue(text, TYPING_MS)
  const isSearched = searched === text && text !== ''
  const byId = useQuery(traceByIdQuery(project, typed))
  const conversation = useQuery(conversationQuery(project, typed))
  const named = useQuery(namedTracesQuery(project, typed))
  const found = useQuery(textTracesQuery(project, isSearched ? text : undefined))
  const lists = usePaletteLists(project, typed)
  const places: readonly (Section | typeof CONVERSATIONS)[] = [...useSections(), CONVERSATIONS]
  const sections = places.filter(({ label, description }) => isIn(text, label, description))
  const isLoading = text !== typed || [byId, conversation, named, found].some(each => each.isLoading)
  const error = [byId, conversation, named, found, ...lists].find(each => each.error)?.error
  const openTrace = (trace: TraceItem) =>
    navigate(pathWith(`/traces/${trace.id}`, { project, span: shownMatch(trace)?.spanId }))
  const isUuid = UUID.test(text)
  return (
    <Spotlight.Root
      store={store}
      query={query}
      onQueryChange={setQuery}
      onSpotlightClose={onClose}
      attributes={{ content: { 'aria-label': 'Go to' } }}
      scrollable
    >
      <Spotlight.Search
        aria-label="Go to"
        placeholder="Find sections, traces, conversations, prompts…"
        leftSection={<IconSearch size={18} aria-hidden />}
      />
      <Spotlight.ActionsList>
        {sections.map(({ path, label, description, Icon }) => (
          <PaletteItem key={path} label={label} description={description} Icon={Icon} onOpen={() => navigate(path)} />
        ))}
        {isUuid && (
          <PaletteItem
            label={`Open trace ${text}`}
            Icon={IconListTree}
            onOpen={() => navigate(pathWith(`/traces/${text}`, { project }))}
          />
        )}
        {byId.data?.traces.map(trace => (
          <PaletteItem
            key={trace.id}
            label={`Open trace ${trace.traceId}`}
            description={trace.name}
            Icon={IconListTree}
            onOpen={() => openTrace(trace)}
          />
        ))}
        {project !== undefined && isSearchable(text) && !isUuid && (
          <PaletteItem
            label={isSearched ? `See all traces with “${text}”` : `Search traces for “${text}”`}
            description={isSearched ? null : 'In inputs, outputs, state, and comments'}
            Icon={IconSearch}
            staysOpen={!isSearched}
            onOpen={() => (isSearched ? navigate(pathWith('/traces', { project, contains: text })) : setSearched(text))}
          />
        )}
        {isSearched && found.data && <FoundTraces traces={found.data} sought={text} onOpen={openTrace} />}
        {conversation.data?.traces[0] && (
          <PaletteItem
            label={`Read the conversation ${typed}`}
            description={`Traces with this ${DEFAULT_KEY}`}
            Icon={IconMessage}
            onOpen={() => navigate(conversationAddress(project, DEFAULT_KEY, typed))}
          />
        )}
        {lists.map(
          ({ name, path, Icon, items, hasMore }) =>
            (items.length > 0 || hasMore) && (
              <PaletteGroup key={name} label={name}>
                {items.map(({ id, label, description }) => (
                  <PaletteItem
                    key={id}
                    label={label}
                    description={description === label ? null : description}
                    sought={typed}
                    Icon={Icon}
                    onOpen={() => navigate(pathWith(`${path}/${id}`, { project }))}
                  />
                ))}
                {hasMore && (
                  <PaletteItem
                    label={`All ${name.toLowerCase()}`}
                    Icon={Icon}
                    onOpen={() => navigate(pathWith(path, { project }))}
                  />
                )}
              </PaletteGroup>
            ),
        )}
        {named.data && named.data.traces.length > 0 && (
          <PaletteGroup label="Traces by name">
            {named.data.traces.map(trace => (
              <PaletteItem
                key={trace.id}
                label={trace.name}
                description={trace.inputPreview ?? trace.traceId}
                sought={typed}
                Icon={IconListTree}
                onOpen={() => openTrace(trace)}
              />
            ))}
            {named.data.nextCursor !== null && (
              <PaletteItem
                label={`All traces with “${typed}” in their name`}
                Icon={IconListTree}
                onOpen={() => navigate(pathWith('/traces', { project, nameContains: typed }))}
              />
            )}
          </PaletteGroup>
        )}
      </Spotlight.ActionsList>
      {error && (
        <Text size="sm" className={classes.status} role="alert" c="var(--negative)">
          Some results couldn't be loaded: {error.message}
        </Text>
      )}
      {text !== '' && isLoading && (
        <Text size="xs" c="dimmed" className={classes.status} role="status">
          Searching…
        </Text>
      )}
    </Spotlight.Root>
  )
}

interface FoundTracesProps {
  traces: TraceList
  sought: string
  onOpen: (trace: TraceItem) => void
}

/** A trace's first match outside its name, because the name is always shown. */
const shownMatch = ({ matches = [] }: TraceItem) => matches.find(({ field }) => field !== 'name') ?? matches[0]

function describedMatch(trace: TraceItem): string | undefined {
  const match = shownMatch(trace)
  return match && `${matchedField(match.field)}: ${match.snippet}`
}

/** The traces that contain the text, each with its first match. */
const FoundTraces = ({ traces: { traces, searchedTo, nextCursor }, sought, onOpen }: FoundTracesProps) => (
  <PaletteGroup label="Traces with this text">
    {traces.map(trace => (
      <PaletteItem
        key={trace.id}
        label={trace.name}
        description={describedMatch(trace)}
        sought={sought}
        Icon={IconListTree}
        onOpen={() => onOpen(trace)}
      />
    ))}
    {traces.length === 0 && (
      <Text size="sm" c="dimmed" className={classes.status} role="status">
        {nextCursor !== null && searchedTo ? (
          <>
            No matches since <Moment at={searchedTo} />
          </>
        ) : (
          'No traces contain this text'
        )}
      </Text>
    )}
  </PaletteGroup>
)
