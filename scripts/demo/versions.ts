import type { JsonObject } from '../../src/domain/json.ts'

/** The values of a template's `{slots}`. */
export type Slots = Readonly<Record<string, string>>

/** One version of a text. */
export interface TextVersion {
  /** The day it became current. A draft has none. */
  since?: string
  note: string
  /** The slots that this version changed. The others keep their values from the previous version. */
  slots: Slots
}

/** A template with slots, and the slot values of its versions, oldest first. */
export interface VersionedText<Version extends TextVersion = TextVersion> {
  text: string
  versions: readonly Version[]
}

/** The prompt of a step. */
export interface PromptHistory extends VersionedText<TextVersion & { outputSchema: JsonObject }> {
  stepId: string
}

/** The number of the version that was current at a time. The first version is 1. */
export function versionAt({ versions }: VersionedText, time: number): number {
  const number = versions.findLastIndex(({ since }) => since !== undefined && Date.parse(since) <= time) + 1
  if (number === 0) throw new Error('A text was used before its first version')
  return number
}

/** The values of all slots in a version. */
export const slotsOf = ({ versions }: VersionedText, version: number): Slots =>
  Object.fromEntries(versions.slice(0, version).flatMap(({ slots }) => Object.entries(slots)))

/** The text of a version. A line that consists of an empty slot is removed. */
export function contentOf(text: VersionedText, version: number): string {
  const slots = slotsOf(text, version)
  const lines = text.text.trim().split('\n')
  const filled = lines.map(line => ({ line, text: fill(line, slots) }))
  const kept = filled.filter(each => each.line === '' || each.text !== '').map(each => each.text)
  return kept
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
}

/** Fills a template's slots. An unknown slot is a mistake in our tables. */
export const fill = (text: string, slots: Slots): string =>
  text.replace(SLOT, (_, name: string) => {
    const value = slots[name]
    if (value === undefined) throw new Error(`No value for {${name}} in: ${text}`)
    return value
  })

/** The names of a template's slots. */
export const slotNames = (text: string): string[] => Array.from(text.matchAll(SLOT), ([, name = '']) => name)

const SLOT = /\{(\w+)\}/g
