/* What is known to be refused before a byte is sent. The service decides; this only saves the visitor's time. */
const UNITS = [
  ["MB", 1024 * 1024],
  ["kB", 1024],
  ["bytes", 1],
];
// Types that systems give to files that they do not know; Windows calls every CSV file Excel's.
const VAGUE = ["", "application/octet-stream", "application/vnd.ms-excel"];

/** Returns whether a file may be one of an `accept`: a list of extensions and media types. */
const fits = ({ name, type }, accept) => {
  const wanted = accept
    .toLowerCase()
    .split(",")
    .map((one) => one.trim())
    .filter(Boolean);
  const types = wanted.filter((one) => one.includes("/"));
  return (
    !wanted.length ||
    wanted.some((one) => name.toLowerCase().endsWith(one)) ||
    types.some((one) => (one.endsWith("/*") ? type.startsWith(one.slice(0, -1)) : type === one)) ||
    (types.length && VAGUE.includes(type))
  );
};

/** Returns `{code, message}` of what is wrong with a file for its input, one of the chosen, or nothing. */
export const check = (file, input, chosen) => {
  const { name, size } = file;
  const { maxFiles } = input?.dataset || {};
  const field = input?.name || input?.id;
  if (maxFiles && chosen.filter(([other]) => other === field).length > maxFiles)
    return { code: "too_many", message: `At most ${maxFiles} can be sent here. Remove a file.` };
  const most = Number(input?.dataset.maxBytes);
  if (!size) return { code: "empty_file", message: `“${name}” is empty.` };
  if (most && size > most) {
    const [unit, bytes] = UNITS.find(([, one]) => most >= one);
    const bound = Math.floor((most / bytes) * 10) / 10;
    return { code: "too_large", message: `“${name}” is too large: at most ${bound} ${unit} can be sent.` };
  }
  if (input && !fits(file, input.accept))
    return { code: "file_type_not_allowed", message: `“${name}” cannot be sent here. Accepted: ${input.accept}.` };
};
