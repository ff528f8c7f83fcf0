import classes from './shown-text.module.css'

/** Invisible and bidirectional control characters, which can make one string look like another. */
const MARKS = /([\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff])/

/** A pipeline's text, with control characters made visible and isolated from the text around it. */
export const ShownText = ({ text }: { text: string }) => {
  if (!MARKS.test(text)) return text
  return (
    <bdi>
      {text.split(MARKS).map((part, index) =>
        MARKS.test(part) ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one string change together
          <span key={index} className={classes.mark} title={nameOf(part)}>
            {nameOf(part)}
          </span>
        ) : (
          part
        ),
      )}
    </bdi>
  )
}

const nameOf = (mark: string): string => `U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
