const encoder = new TextEncoder()

/** The length of a text in UTF-8 bytes. */
export const utf8Length = (text: string): number => encoder.encode(text).byteLength
