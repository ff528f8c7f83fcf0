import { ShownText } from '../json/shown-text.tsx'

/** Text in which the matches for a search are marked. */
export function FoundText({ text, sought }: { text: string; sought: string }) {
  if (sought === '') return <ShownText text={text} />
  const pattern = new RegExp(`(${sought.replace(/[$()*+.?[\\\]^{|}]/g, '\\$&')})`, 'iu')
  return text.split(pattern).map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one string change together
      <mark key={index}>
        <ShownText text={part} />
      </mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one string change together
      <ShownText key={index} text={part} />
    ),
  )
}
