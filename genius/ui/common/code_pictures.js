// Asks for the pictures that are typical of a code, and hands them to the page's script.
genius.wantPictures = prefix => trigger('want', {prefix});
const draw = value => {
  if (value) genius.setPictures(value.prefix, value.pictures);
  return [];
};
