import { type PeriodUnit, periodWords } from './periods.ts'

/*
 * The filters that a list offers, and the terms that its URL contains. The URL uses the API's names.
 */

export interface Option {
  value: string
  label: string
}

/** The options for a filter whose values have names. */
export const optionsOf = (names: ReadonlyMap<string, string>): Option[] =>
  [...names].map(([value, label]) => ({ value, label }))

/** A filter with a few values. */
interface ChoiceFilter {
  kind: 'choice'
  label: string
  name: string
  options: readonly Option[]
}

/** A filter with a few values, each of which sets one of several parameters. */
export interface EitherFilter {
  kind: 'either'
  label: string
  options: readonly (Option & { name: string })[]
}

/** A filter with a text value. */
export interface TextFilter {
  kind: 'text'
  label: string
  name: string
  /** The parameter that matches any part of the text, if the list has one. */
  partName?: string
  placeholder?: string
  suggestions?: readonly string[]
}

/** A range of time. */
export interface PeriodFilter {
  kind: 'period'
  label: string
  /** The parameter for the start: the first moment, or any moment on the first day. */
  from: string
  /** The parameter for the end (exclusive). */
  to: string
  unit: PeriodUnit
}

/** A metadata field and the value that it must have. A list may have several such filters. */
export interface MetadataFilter {
  kind: 'metadata'
  label: string
}

export type Filter = ChoiceFilter | EitherFilter | TextFilter | PeriodFilter | MetadataFilter

/** One filter in a URL. */
export interface Term {
  filter: Filter
  /** Its parameters. */
  names: readonly string[]
  /** What it filters by: `Name contains`. */
  label: string
  /** Its value in words. */
  value: string
}

/** The parameters to set (text) and to remove (null). */
export type Changes = Record<string, string | null>

export const METADATA = 'metadata.'

/** The parameters that a filter's options set. */
export const namesOf = ({ options }: EitherFilter): string[] => [...new Set(options.map(({ name }) => name))]

/** A filter's terms in a URL: none if it isn't set. A metadata filter can have several. */
export function termsOf(filter: Filter, address: URLSearchParams): Term[] {
  const { label } = filter
  const term = (name: string, label: string, wordsFor: (value: string) => string = value => value): Term[] => {
    const value = address.get(name)
    return value ? [{ filter, names: [name], label, value: wordsFor(value) }] : []
  }
  switch (filter.kind) {
    case 'choice':
      return term(filter.name, label, value => filter.options.find(option => option.value === value)?.label ?? value)
    case 'either':
      return namesOf(filter).flatMap(name =>
        term(
          name,
          label,
          value => filter.options.find(option => option.name === name && option.value === value)?.label ?? value,
        ),
      )
    case 'text':
      return [
        ...term(filter.name, label),
        ...(filter.partName === undefined ? [] : term(filter.partName, `${label} contains`)),
      ]
    case 'period': {
      const [from, to] = [address.get(filter.from), address.get(filter.to)]
      if (!from && !to) return []
      return [{ filter, names: [filter.from, filter.to], label, value: periodWords({ from, to }, filter.unit) }]
    }
    case 'metadata':
      return [...new Set(address.keys())]
        .filter(name => name.startsWith(METADATA) && name !== METADATA)
        .flatMap(name => term(name, name.slice(METADATA.length)))
  }
}
