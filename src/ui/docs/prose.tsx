/** Text with code in backticks. */
export const Inline = ({ text }: { text: string }) =>
  text.split('`').map((part, index) =>
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other key and never change
    index % 2 === 1 ? <code key={index}>{part}</code> : part,
  )

/** Paragraphs separated by blank lines, with code in backticks. */
export const Prose = ({ text }: { text: string }) =>
  text.split(/\n\n+/).map(paragraph => (
    <p key={paragraph}>
      <Inline text={paragraph} />
    </p>
  ))
