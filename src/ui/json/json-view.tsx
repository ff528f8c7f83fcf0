import { Button, Group, SegmentedControl, Skeleton, Text, UnstyledButton } from '@mantine/core'
import { lazy, Suspense, useContext, useEffect, useMemo, useState } from 'react'
import type { Json } from '../api/wire.ts'
import { IconChevronDown, IconChevronRight, IconSearch } from '../icons/index.ts'
import { Citation, CitedNames, CitedText } from '../markdown/cited-text.tsx'
import { ReadableText } from '../markdown/index.tsx'
import { isMarkdown, MAX_MARKDOWN_LENGTH } from '../markdown/syntax.ts'
import { CopyIcon } from '../parts/copied-code.tsx'
import { counted } from '../parts/format.ts'
import { IconButton } from '../parts/icon-button.tsx'
import { FOLDED_STRING_LENGTH, type JsonRow, jsonRows, toggledToShow } from './json-rows.ts'
import classes from './json-view.module.css'
import { ScrollBox } from './scroll-box.tsx'
import { ShownText } from './shown-text.tsx'
import { VirtualLines } from './virtual-lines.tsx'

/** How much more of a long string each click shows. Browsers take seconds to lay out a megabyte. */
const MORE_LENGTH = 50_000

interface JsonViewProps {
  value: Json
  /** The accessible name. */
  label: string
  /** A dotted path to show and mark. */
  marked?: string | undefined
  /** A CSS length. */
  maxHeight?: string
  /** The names that the value cites, and what each one opens. */
  links?: ReadonlyMap<string, () => void>
}

const NO_LINKS: ReadonlyMap<string, () => void> = new Map()

type ContentProps = Required<Pick<JsonViewProps, 'value' | 'label' | 'maxHeight'>> & Pick<JsonViewProps, 'marked'>

/**
 * A value for reading: strings as plain text or Markdown, objects and arrays as a tree that folds. Only visible lines
 * are rendered, and nothing in the value is ever treated as HTML. The value's source can be searched.
 */
export function JsonView({ value, label, marked, maxHeight = '60vh', links = NO_LINKS }: JsonViewProps) {
  const [mode, setMode] = useState<'read' | 'source'>('read')
  const [wanted, setWanted] = useState<string>()
  const isText = typeof value === 'string'
  const toSource = () => (isText ? value : JSON.stringify(value, undefined, 2))
  return (
    <div className={classes.view}>
      <Group justify="space-between" className={classes.bar} gap="xs" wrap="nowrap">
        <SegmentedControl
          size="xs"
          aria-label={`Format of ${label}`}
          value={wanted === undefined ? mode : 'source'}
          onChange={chosen => {
            setMode(chosen === 'source' ? 'source' : 'read')
            setWanted(undefined)
          }}
          data={[
            { value: 'read', label: isText ? 'Text' : 'Readable' },
            { value: 'source', label: isText ? 'Source' : 'JSON' },
          ]}
        />
        <Group gap={0} wrap="nowrap">
          <IconButton
            label={`Find in ${label}`}
            Icon={IconSearch}
            onClick={() => setWanted(wanted === undefined ? '' : undefined)}
          />
          <CopyIcon text={toSource} label={`Copy ${label}`} />
        </Group>
      </Group>
      {wanted === undefined && mode === 'read' ? (
        <CitedNames value={links}>
          <Readable value={value} label={label} marked={marked} maxHeight={maxHeight} />
        </CitedNames>
      ) : (
        <Suspense fallback={<Skeleton h="8rem" />}>
          <Source value={value} label={label} maxHeight={maxHeight} wanted={wanted} onFind={setWanted} />
        </Suspense>
      )}
    </div>
  )
}

const Readable = (props: ContentProps) =>
  typeof props.value === 'string' ? <TextBox {...props} value={props.value} /> : <JsonTree {...props} />

function TextBox({ value, label, marked, maxHeight }: ContentProps & { value: string }) {
  if (value.length > MAX_MARKDOWN_LENGTH) {
    return (
      <Suspense fallback={<Skeleton h="8rem" />}>
        <LongText value={value} label={label} maxHeight={maxHeight} />
      </Suspense>
    )
  }
  return (
    <ScrollBox
      label={label}
      maxHeight={maxHeight}
      length={value.length}
      className={classes.text}
      isMarked={marked === ''}
    >
      {value === '' ? <EmptyString /> : <ReadableText text={value} />}
    </ScrollBox>
  )
}

const EmptyString = () => (
  <Text span inherit c="dimmed">
    empty string
  </Text>
)

const Source = lazy(async () => ({ default: (await import('./source.tsx')).Source }))
const LongText = lazy(async () => ({ default: (await import('./source.tsx')).LongText }))

function JsonTree({ value, label, marked, maxHeight }: ContentProps) {
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  const rows = useMemo(() => jsonRows(value, toggled), [value, toggled])
  useEffect(() => {
    if (marked !== undefined) setToggled(current => toggledToShow(value, marked, current))
  }, [marked, value])
  const markedIndex = marked === undefined ? -1 : rows.findIndex(({ path }) => path === marked)
  const toggle = (pointer: string) =>
    setToggled(current => {
      const next = new Set(current)
      if (!next.delete(pointer)) next.add(pointer)
      return next
    })
  return (
    <VirtualLines
      count={rows.length}
      keyOf={index => rows[index]?.pointer ?? index}
      label={label}
      maxHeight={maxHeight}
      shown={markedIndex}
      isMarking
    >
      {index => {
        const row = rows[index]
        return row && <Row row={row} onToggle={toggle} />
      }}
    </VirtualLines>
  )
}

interface RowProps {
  row: JsonRow
  onToggle: (pointer: string) => void
}

function Row({ row, onToggle }: RowProps) {
  const { name, value, size, isOpen, pointer } = row
  const indent = { paddingInlineStart: `${row.depth * 14}px` }
  if (size === null) {
    return (
      <div className={classes.line} style={indent} data-prose={isProse(value) || undefined}>
        <span className={classes.fold} />
        {name !== null && <Name name={name} />}
        <Scalar value={value} />
      </div>
    )
  }
  const summary = Array.isArray(value) ? `[${size}]` : `{${size}}`
  return (
    <UnstyledButton
      className={classes.line}
      style={indent}
      onClick={() => onToggle(pointer)}
      aria-expanded={isOpen}
      aria-label={`${name ?? 'value'}, ${size} ${size === 1 ? 'entry' : 'entries'}`}
    >
      <span className={classes.fold}>
        {isOpen ? <IconChevronDown size={12} aria-hidden /> : <IconChevronRight size={12} aria-hidden />}
      </span>
      {name !== null && <Name name={name} />}
      <Text span inherit c="dimmed">
        {summary}
      </Text>
    </UnstyledButton>
  )
}

const Name = ({ name }: { name: string }) => (
  <span className={classes.name}>
    <ShownText text={name} />:
  </span>
)

/** Whether a value is text for people to read, rather than a name or an ID. */
const isProse = (value: Json): boolean =>
  typeof value === 'string' && (isMarkdown(value) || /\n|\S\s+\S+\s+\S/.test(value.slice(0, 1_000)))

function Scalar({ value }: { value: Json }) {
  const [length, setLength] = useState(FOLDED_STRING_LENGTH)
  const names = useContext(CitedNames)
  if (typeof value !== 'string') return <span className={classes.literal}>{JSON.stringify(value)}</span>
  const follow = names.get(value)
  if (follow) return <Citation name={value} onFollow={follow} />
  const left = value.length - length
  const text = left > 0 ? value.slice(0, length) : value
  return (
    <div className={classes.string} dir="auto">
      {value === '' ? <EmptyString /> : isProse(value) ? <ReadableText text={text} /> : <CitedText text={text} />}
      {left > 0 && (
        <Button variant="subtle" size="compact-xs" onClick={() => setLength(length + MORE_LENGTH)}>
          … {counted(left, 'more character')}
        </Button>
      )}
    </div>
  )
}
