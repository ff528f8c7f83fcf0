/** A text with words between backticks, which are code. */
export const Inline = ({ text }: { text: string }) =>
  text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: a text's parts have no other name, and never change
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )

/** Paragraphs of such texts, with a blank line between them. */
export const Prose = ({ text }: { text: string }) =>
  text.split(/\n\n+/).map(paragraph => (
    <p key={paragraph}>
      <Inline text={paragraph} />
    </p>
  ))
